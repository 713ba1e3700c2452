/**
 * `settle sessions …`: looks at transcripts, and what may be done with them. Nothing here ever deletes one.
 *
 * E1. Looking takes no lock and changes nothing; `doctor` changes only with `--repair`, and only by appending.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Stream from "effect/Stream"
import * as Message from "@settle/core/model/Message"
import * as Replay from "@settle/core/model/Replay"
import * as Doctor from "@settle/store-fs/Doctor"
import * as FsTranscript from "@settle/store-fs/FsTranscript"
import * as Location from "@settle/store-fs/Location"
import * as Sessions from "@settle/store-fs/Sessions"
import * as ConfigFile from "../ConfigFile.ts"
import * as Exit from "../Exit.ts"
import * as Failure from "../Failure.ts"
import * as Figures from "../Figures.ts"
import * as Granted from "../Granted.ts"
import * as Html from "../Html.ts"
import * as Neutral from "@settle/core/decide/Neutral"
import * as OpenCalls from "../OpenCalls.ts"
import * as Out from "../Out.ts"
import * as Places from "../Places.ts"
import * as Render from "../Render.ts"

interface Printing {
  readonly output: "text" | "json"
}

/** The folder whose sessions are meant: the one a run would write to. */
const project = Effect.map(ConfigFile.root, (root) => ({ project: root }))

const print = (text: string) => Effect.flatMap(Out.Out, ({ stdout }) => stdout.write(text))
const printJson = (value: unknown) => print(`${JSON.stringify(value, null, 2)}\n`)

export const list = Effect.fn("Sessions.list")(function* ({ all, output }: Printing & { readonly all: boolean }) {
  const peeks = yield* Sessions.list(all ? {} : yield* project)
  if (output === "json") return yield* printJson(peeks)
  if (peeks.length === 0)
    return yield* print(`No sessions${all ? "" : " of this project"} yet. settle run writes one.\n`)
  const width = Math.max(...peeks.map((peek) => peek.name.length))
  yield* Effect.forEach(peeks, (peek) => print(`${summary(peek, width)}\n`), { discard: true })
})

const summary = (peek: Sessions.Peek, width: number): string => {
  const at = new Date(peek.updatedAt).toISOString().slice(0, 16).replace("T", " ")
  const open = peek.openCalls > 0 ? [`${Figures.plural(peek.openCalls, "open call")}`] : []
  const faults = peek.faults.length > 0 ? [`${Figures.plural(peek.faults.length, "bad line")}`] : []
  const facts =
    peek.problem === undefined ? [Figures.plural(peek.messages, "message"), ...open, ...faults] : [peek.problem]
  return `${Neutral.line(peek.name).padEnd(width)}  ${at}  ${facts.map(Neutral.line).join(", ")}  ${Neutral.bounded(peek.firstPrompt ?? "", 80)}`.trimEnd()
}

interface Named {
  readonly session: string
}

const find = Effect.fnUntraced(function* (session: string) {
  return yield* Sessions.find(session, yield* project)
})

/** The replay of a session, read without a lock. */
const replayOf = (path: string) =>
  Effect.flatMap(FsTranscript.open({ path, readOnly: true }), (opened) => opened.replay)

export const show = Effect.fn("Sessions.show")(function* ({ output, session }: Named & Printing) {
  const path = yield* find(session)
  const replay = yield* replayOf(path)
  if (output === "json") return yield* printJson(plain(path, replay))
  const { stdout } = yield* Out.Out
  yield* print(`${Render.toned(stdout, "quiet", Neutral.line(path))}\n`)
  const operations = new Map(replay.settled.map((operation) => [operation.callId, operation]))
  for (const entry of replay.entries) yield* print(turn(entry, operations, stdout))
  const { calls } = Doctor.examine(replay)
  if (calls.length > 0) yield* print(`\n${OpenCalls.headline(calls)}\n`)
  for (const { text, tone } of OpenCalls.lines(calls)) yield* print(`${Render.toned(stdout, tone, text)}\n`)
}, Effect.scoped)

const plain = (path: string, replay: Replay.Replay) => ({
  path,
  meta: replay.meta ?? null,
  messages: Replay.messages(replay),
  operations: [...replay.settled, ...replay.pending.map((operation) => ({ ...operation, outcome: null }))],
  open: Doctor.examine(replay).calls,
  faults: replay.faults
})

type Operations = ReadonlyMap<string, Replay.SettledOperation>

const turn = ({ mark, message }: Replay.Entry, operations: Operations, device: Out.Device): string => {
  const heading = Render.toned(device, "quiet", `\n${message.role}${mark === undefined ? "" : ` (${mark})`}`)
  const calls = Message.callsOf(message).map((call) => {
    const operation = operations.get(call.id)
    return `→ ${Neutral.call(call.name, call.arguments)}${operation === undefined ? "" : `: ${outcome(operation)}`}`
  })
  const body = message.content === "" ? [] : [Neutral.block(message.content.trimEnd())]
  return `${heading}\n${[...body, ...calls].join("\n")}\n`
}

const outcome = ({ dispatchedAt, outcome: said, settledAt }: Replay.SettledOperation): string =>
  `${said}, ${Figures.duration(Date.parse(settledAt) - Date.parse(dispatchedAt))}`

export const search = Effect.fn("Sessions.search")(function* (
  input: Printing & { readonly text: string; readonly all: boolean }
) {
  const files = yield* Sessions.files(input.all ? {} : yield* project)
  const hits = Sessions.search(input.text, files)
  if (input.output === "json") return yield* printJson(yield* Stream.runCollect(hits))
  const count = yield* Stream.runFoldEffect(
    hits,
    () => 0,
    (found, hit) =>
      Effect.as(print(`${Neutral.line(hit.name)}:${hit.line} ${hit.role}: ${Neutral.line(hit.excerpt)}\n`), found + 1)
  )
  if (count === 0) yield* print(`Nothing in ${Figures.plural(files.length, "session")}.\n`)
})

export const fork = Effect.fn("Sessions.fork")(function* (
  input: Named & { readonly name: string; readonly at?: string }
) {
  const from = yield* find(input.session)
  const to = yield* target(input.name)
  const at = input.at === undefined ? {} : { at: /^\d+$/.test(input.at) ? Number(input.at) : input.at }
  const forked = yield* Sessions.fork({ from, to, ...at, meta: { name: Location.nameOf(to) } })
  const open =
    forked.open.length === 0
      ? ""
      : ` ${Figures.plural(forked.open.length, "call")} open in it; settle resume says what they are.`
  yield* print(
    `${Neutral.line(forked.path)}: ${Figures.plural(forked.copied, "line")} of ${Neutral.line(from)}.${open}\n`
  )
})

const target = Effect.fnUntraced(function* (name: string) {
  if (Location.isPath(name)) return (yield* Path.Path).resolve(name)
  const problem = Location.nameProblem(name)
  if (problem !== undefined) return yield* Failure.usage(`"${name}" cannot name a session: ${problem}.`)
  return Sessions.fileOf({ home: yield* Sessions.home, ...(yield* project) }, name)
})

export const rename = Effect.fn("Sessions.rename")(function* (input: Named & { readonly name: string }) {
  const path = yield* Sessions.rename(yield* find(input.session), input.name)
  yield* print(`${Neutral.line(path)}\n`)
})

export interface Export extends Named {
  readonly format: "md" | "html"
  readonly to?: string
}

export const write = Effect.fn("Sessions.export")(function* (input: Export) {
  const path = yield* find(input.session)
  const replay = yield* replayOf(path)
  const title = Location.nameOf(path)
  const parts = input.format === "html" ? Html.page(replay, title) : Sessions.markdown(replay, title)
  if (input.to === undefined) {
    for (const part of parts) yield* print(part)
    return
  }
  const fs = yield* FileSystem.FileSystem
  const to = input.to
  const open = fs.open(to, { flag: "wx" })
  yield* Effect.gen(function* () {
    const file = yield* open
    for (const part of parts) yield* file.writeAll(new TextEncoder().encode(part))
  }).pipe(
    Effect.catch((error) => Failure.failed(`The export could not be written to ${to}: ${Places.problem(error)}.`))
  )
  yield* print(`${Neutral.line(to)}\n`)
}, Effect.scoped)

export interface Examine extends Printing {
  readonly session?: string
  readonly repair: boolean
}

/** Without a session, all of the project. Exit code 1 as long as something is not sound. */
export const doctor = Effect.fn("Sessions.doctor")(function* (input: Examine) {
  const paths = input.session === undefined ? yield* Sessions.files(yield* project) : [yield* find(input.session)]
  const reports = yield* Effect.forEach(paths, (path) =>
    Effect.map(Effect.scoped(examined(path, input.repair)), (report) => ({ path, ...report }))
  )
  if (input.output === "json") yield* printJson(reports)
  else for (const report of reports) yield* print(diagnosis(report))
  const sick = reports.filter((report) => !report.isSound).length
  if (sick > 0) {
    const advice = input.repair
      ? "What is left cannot be mended by appending."
      : "Add --repair to append what is proposed."
    return yield* new Failure.CommandError({
      code: Exit.failed,
      detail: `${sick} of ${Figures.plural(reports.length, "session")} not sound. ${advice}`
    })
  }
})

const examined = Effect.fnUntraced(function* (path: string, repair: boolean) {
  const transcript = yield* FsTranscript.open({ path, readOnly: !repair })
  const report = repair ? yield* Doctor.repair(transcript) : Doctor.examine(yield* transcript.replay)
  const replay = yield* transcript.replay
  const after = repair ? Doctor.examine(replay) : report
  const granted = yield* Granted.problem(path, replay)
  const permissions = granted === undefined ? [] : [Granted.sentence(granted, Location.nameOf(path))]
  return {
    findings: [...transcript.notices, ...Doctor.describe(report), ...permissions],
    appended: repair ? report.repair.length : 0,
    wouldAppend: repair ? 0 : report.repair.length,
    isSound: Doctor.isSound(after) && granted === undefined
  }
})

type Diagnosis = Effect.Success<ReturnType<typeof examined>> & { readonly path: string }

const diagnosis = ({ appended, findings, isSound, path, wouldAppend }: Diagnosis): string => {
  const done = appended > 0 ? `  appended ${Figures.plural(appended, "line")}\n` : ""
  const would = wouldAppend > 0 ? `  a repair would append ${Figures.plural(wouldAppend, "line")}\n` : ""
  return `${isSound ? "✔" : "✘"} ${Neutral.line(path)}\n${findings.map((finding) => `  ${Neutral.line(finding)}\n`).join("")}${done}${would}`
}
