/** A folder for one test, gone with its scope; and lines as other writers would have left them. */
import { Effect } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import type * as Message from "@settle/core/model/Message"
import type * as TranscriptLine from "@settle/core/model/TranscriptLine"
import * as FsTranscript from "../src/FsTranscript.ts"

export const folder = Effect.acquireRelease(
  Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "settle-store-")))),
  (created) => Effect.sync(() => fs.rmSync(created, { recursive: true, force: true }))
)

/** A file in a fresh folder. */
export const file = (name = "session.jsonl") => Effect.map(folder, (created) => path.join(created, name))

const at = "2026-01-02T03:04:05.678Z"
export const record = (type: string, id: string, payload: object): string =>
  JSON.stringify({ v: 1, type, id, ts: at, payload })
export const header = record("session-meta", "meta", { name: "test" })
export const message = (id: string, role: Message.Role, content: string, more: object = {}): string =>
  record("message", id, { role, content, ...more })
export const asks = (id: string, ...callIds: ReadonlyArray<string>): string =>
  message(id, "assistant", "", { toolCalls: callIds.map((callId) => ({ id: callId, name: "write", arguments: "{}" })) })
export const dispatched = (opId: string, callId: string, more: object = {}): string =>
  record("tool-dispatched", opId, { callId, tool: "write", arguments: "{}", ...more })
export const settled = (id: string, opId: string, outcome = "completed"): string =>
  record("tool-settled", id, { opId, outcome })

export const lines = (...given: ReadonlyArray<string>): string => given.map((line) => `${line}\n`).join("")

export const user = (content: string): TranscriptLine.Draft => ({
  type: "message",
  message: { role: "user", content },
  extras: {}
})

/** Opens for the length of `use`. */
export const using = <A, E, R>(
  options: FsTranscript.Options,
  use: (transcript: FsTranscript.FsTranscript) => Effect.Effect<A, E, R>
) => Effect.scoped(Effect.flatMap(FsTranscript.open(options), use))

export const contents = (transcript: FsTranscript.FsTranscript) =>
  Effect.map(transcript.replay, (replay) => replay.entries.map((entry) => entry.message.content))

export const isRoot = process.getuid?.() === 0
