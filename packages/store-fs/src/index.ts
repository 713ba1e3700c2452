export * as FsArtifacts from "./FsArtifacts.ts"
export * as FsTranscript from "./FsTranscript.ts"
export * as Lock from "./Lock.ts"
