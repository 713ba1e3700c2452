/** The test kit: everything a test of a run, or of a port's implementation, needs. */
export * as Counter from "./Counter.ts"
export * as EventGrammar from "./EventGrammar.ts"
export * as FaultyTranscript from "./FaultyTranscript.ts"
export * as Invariants from "./Invariants.ts"
export * as Recorder from "./Recorder.ts"
export * as Script from "./Script.ts"
export * as Tools from "./Tools.ts"
export * as World from "./World.ts"
