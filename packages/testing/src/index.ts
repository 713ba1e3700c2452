/**
 * The test kit: everything a test of a run needs. The suites of the ports register tests with vitest, so they have doors of
 * their own: `@settle/testing/suites/TranscriptSuite` and its neighbours.
 */
export * as Arbitraries from "./Arbitraries.ts"
export * as Counter from "./Counter.ts"
export * as EventGrammar from "./EventGrammar.ts"
export * as FaultyTranscript from "./FaultyTranscript.ts"
export * as History from "./History.ts"
export * as Invariants from "./Invariants.ts"
export * as Recorder from "./Recorder.ts"
export * as Script from "./Script.ts"
export * as Tools from "./Tools.ts"
export * as World from "./World.ts"
