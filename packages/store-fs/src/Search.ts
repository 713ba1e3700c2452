/** Text in sessions, file by file, as a stream: a hit is out before the next file is opened. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as Json from "@settle/core/model/Json"
import * as Errno from "./Errno.ts"
import * as Reader from "./Reader.ts"
import { SessionError, Unusable } from "./SessionError.ts"
import * as Location from "./Location.ts"

export interface Hit {
  readonly path: string
  readonly name: string
  /** 1-based; a place to fork at. */
  readonly line: number
  readonly id: string
  readonly role: string
  /** One line around the first match. */
  readonly excerpt: string
}

/** Messages that hold the text, upper and lower case alike, in the order of the files given (`Sessions.files`). */
export const search = (text: string, files: ReadonlyArray<string>): Stream.Stream<Hit, SessionError> =>
  Stream.fromIterable(files).pipe(
    Stream.mapEffect((file) =>
      Effect.catch(searchFile(text.toLowerCase(), file), ({ cause }) =>
        Effect.fail(
          new SessionError({ operation: "search", reason: new Unusable({ path: file, detail: Errno.describe(cause) }) })
        )
      )
    ),
    Stream.flattenIterable
  )

const searchFile = (wanted: string, file: string): Effect.Effect<ReadonlyArray<Hit>, Reader.SystemError> =>
  Effect.scoped(
    Effect.gen(function* () {
      const hits: Array<Hit> = []
      const fd = yield* Reader.open(file)
      const until = yield* Reader.system(() => fs.fstatSync(fd).size)
      const line = (value: Json.Json, number: number) => {
        const hit = match(wanted, value)
        if (hit !== undefined) hits.push({ path: file, name: Location.nameOf(file), line: number, ...hit })
      }
      yield* Reader.read({ fd, until }, { line, fault: () => undefined })
      return hits
    })
  )

const match = (wanted: string, value: Json.Json): Pick<Hit, "id" | "role" | "excerpt"> | undefined => {
  if (!Json.isObject(value) || value["type"] !== "message" || !Json.isObject(value["payload"])) return undefined
  const { content, role } = value["payload"]
  if (typeof content !== "string") return undefined
  const at = content.toLowerCase().indexOf(wanted)
  if (at < 0) return undefined
  return {
    id: typeof value["id"] === "string" ? value["id"] : "",
    role: typeof role === "string" ? role : "",
    excerpt: around(content, at, wanted.length)
  }
}

const around = (content: string, at: number, length: number): string => {
  const from = Math.max(0, at - 60)
  const to = Math.min(content.length, at + length + 60)
  const middle = content.slice(from, to).replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, "")
  return `${from > 0 ? "…" : ""}${middle.toWellFormed().replace(/\s+/g, " ").trim()}${to < content.length ? "…" : ""}`
}
