/**
 * `settle demo`: a real run of the built-in model with real MCP servers is killed in the middle of a tool call, resumed, and asked what
 * became of it. No key, no network.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as ChildProcess from "effect/process/ChildProcess"
import * as ChildProcessSpawner from "effect/process/ChildProcessSpawner"
import * as Json from "@settle/core/model/Json"
import * as RunEvent from "@settle/core/model/RunEvent"
import * as Doctor from "@settle/store-fs/Doctor"
import * as FsTranscript from "@settle/store-fs/FsTranscript"
import { label } from "@settle/backends/embedded/About"
import * as Failure from "../Failure.ts"
import * as Neutral from "@settle/core/decide/Neutral"
import * as OpenCalls from "../OpenCalls.ts"
import * as Out from "../Out.ts"
import * as Render from "../Render.ts"
import * as Screen from "../Screen.ts"
import * as SlowServer from "../demo/SlowServer.ts"
import * as Workspace from "../demo/Workspace.ts"

export interface Input {
  readonly dir?: string
  /** Be the slow MCP server of this folder instead. */
  readonly serve?: string
}

const slowTool = "slow_write_file"

export const demo = Effect.fn("commands.Demo")(function* (input: Input) {
  if (input.serve !== undefined) return yield* SlowServer.serve(input.serve)
  const { stdout } = yield* Out.Out
  const tell = (text: string) => stdout.write(`${text}\n`)
  const step = (text: string) => tell(`\n${text}`)
  const workspace = yield* Workspace.make(input.dir)
  yield* tell(
    "Settle demo: a run is killed in the middle of a tool call, and its transcript tells what is known about it."
  )
  yield* step(`1. A folder, ${workspace.folder}, two MCP servers (the reference filesystem server, and a slow one),`)
  yield* tell(`   and ${label}. No key, no network.`)

  const prompt = ["Read the file notes.txt", `Write "${workspace.reportText}" to report.txt`, "Read the file todo.txt"]
  yield* step("2. A run with three things to do, one after the other:")
  yield* Effect.forEach(prompt, (line) => tell(`   > ${line}`))
  const pid = yield* killedRun(workspace, prompt.join("\n"))
  yield* tell(Render.toned(stdout, "bad", `   SIGKILL to process ${pid}, in the middle of ${slowTool}.`))

  yield* step("3. What the transcript knows:")
  yield* Effect.scoped(reportOf(workspace))

  yield* step("4. The transcript is resumed; the model is told the same, and asked to look:")
  const question = "Read the file report.txt"
  yield* tell(`   $ settle resume demo.jsonl "${question}"`)
  yield* resumed(workspace, question)

  const command = yield* Workspace.command
  yield* step(`The transcript: ${workspace.transcript}`)
  yield* tell("What to type next:")
  yield* tell(`   ${command} sessions show ${workspace.transcript}`)
  yield* tell(
    `   ${command} resume --config ${workspace.folder}/settle.json ${workspace.transcript} "List the files in this folder"`
  )
})

const child = (workspace: Workspace.Workspace, args: ReadonlyArray<string>, options: ChildProcess.CommandOptions) => {
  const [file = "", ...own] = Workspace.self
  return ChildProcess.make(file, [...own, ...args], { cwd: workspace.folder, extendEnv: true, ...options })
}

/** Runs until the slow tool has written some of its words, then kills the process as a power cut would. */
const killedRun = Effect.fnUntraced(function* (workspace: Workspace.Workspace, prompt: string) {
  const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
  const { stderr, stdout } = yield* Out.Out
  const args = ["run", "--session", workspace.transcript, "--output", "events", prompt]
  const handle = yield* spawner.spawn(child(workspace, args, { stdin: "ignore", stderr: "inherit" }))
  const started = yield* Deferred.make<void>()
  const render = Render.make({ stdout, stderr: stdout.isTerminal ? stdout : stderr })
  let screen = Screen.empty
  const events = handle.stdout.pipe(Stream.decodeText(), Stream.splitLines, Stream.filterMap(eventOf))
  const watcher = yield* Effect.forkScoped(
    Stream.runForEach(events, (event) => {
      if (event._tag === "ToolStarted" && event.name === slowTool) Deferred.doneUnsafe(started, Effect.void)
      const [next, shows] = Screen.step(screen, event)
      screen = next
      return Effect.forEach(shows, render.show, { discard: true })
    })
  )
  yield* Effect.raceFirst(Deferred.await(started), endedEarly(handle))
  yield* Effect.raceFirst(someWords(workspace), endedEarly(handle))
  yield* handle.kill({ killSignal: "SIGKILL" })
  yield* Effect.ignore(Fiber.join(watcher))
  yield* render.show(Screen.Show.Running({ calls: [] }))
  return handle.pid
}, Effect.scoped)

const eventOf = (line: string): Result.Result<RunEvent.RunEvent, void> => {
  const json = Json.parse(line)
  return Json.isObject(json) ? Result.mapError(RunEvent.fromJson(json), () => undefined) : Result.failVoid
}

const endedEarly = (handle: ChildProcessSpawner.ChildProcessHandle) =>
  Effect.flatMap(handle.exitCode, (code) =>
    Failure.failed(`The demo's run ended with exit code ${code} before its slow call began; what it said stands above.`)
  )

/** Three words of the report are on disk. */
const someWords = Effect.fnUntraced(function* ({ report }: Workspace.Workspace) {
  const fs = yield* FileSystem.FileSystem
  const words = Effect.map(
    Effect.orElseSucceed(fs.readFileString(report), () => ""),
    (text) => text.split(" ").length
  )
  yield* Effect.repeat(words, { until: (count) => count >= 3, schedule: Schedule.spaced("50 millis") })
})

const reportOf = Effect.fnUntraced(function* (workspace: Workspace.Workspace) {
  const { stdout } = yield* Out.Out
  const fs = yield* FileSystem.FileSystem
  const transcript = yield* FsTranscript.open({ path: workspace.transcript, readOnly: true })
  const replay = yield* transcript.replay
  const finished = replay.settled.map(({ arguments: args, outcome, tool }) => ({
    tone: "good" as const,
    text: `✔ ${Neutral.call(tool, args)}: ${outcome}`
  }))
  for (const { text, tone } of [...finished, ...OpenCalls.lines(Doctor.examine(replay).calls)]) {
    yield* stdout.write(`   ${Render.toned(stdout, tone, text)}\n`)
  }
  const onDisk = yield* Effect.orElseSucceed(fs.readFileString(workspace.report), () => "")
  const [some, all] = [onDisk, workspace.reportText].map((text) => text.split(" ").length)
  yield* stdout.write(
    `   On disk, report.txt has ${some} of ${all} words: neither done nor undone, so it is called neither.\n`
  )
})

const resumed = Effect.fnUntraced(function* (workspace: Workspace.Workspace, question: string) {
  const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
  const args = ["resume", workspace.transcript, question]
  const handle = yield* spawner.spawn(child(workspace, args, { stdin: "ignore", stdout: "inherit", stderr: "inherit" }))
  const code = yield* handle.exitCode
  if (code !== 0) return yield* Failure.failed(`The resumed run ended with exit code ${code}.`)
}, Effect.scoped)
