/** The tree of commands: names, flags and help. What a command does is loaded when it runs. */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Argument from "effect/cli/Argument"
import * as CliConfig from "effect/cli/CliConfig"
import type * as CliError from "effect/cli/CliError"
import * as CliOutput from "effect/cli/CliOutput"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import * as Flags from "./commands/Flags.ts"
import * as Exit from "./Exit.ts"
import * as Failure from "./Failure.ts"
import * as Neutral from "@settle/core/decide/Neutral"
import { version } from "./Version.ts"

const prompt = Argument.String("prompt").pipe(
  Argument.withDescription("What to do. Without it, what is piped in"),
  Argument.optional
)

const lazily = <M, A, E, R>(load: () => Promise<M>, use: (module: M) => Effect.Effect<A, E, R>) =>
  Effect.flatMap(Effect.promise(load), use)

const runCommand = Command.make("run", { ...Flags.shared, prompt }, (parsed) =>
  lazily(
    () => import("./commands/Run.ts"),
    (m) => m.run(Flags.given(parsed))
  )
).pipe(
  Command.withDescription("One run: the prompt from the argument, or from stdin when piped"),
  Command.withExamples([
    { command: `settle run "What changed here today?"`, description: "with the nearest settle.json" },
    {
      command: `settle run --base-url http://127.0.0.1:8080/v1 --model qwen3 "Say hello"`,
      description: "with nothing but a server"
    }
  ])
)

const chat = Command.make("chat", Flags.shared, (parsed) =>
  lazily(
    () => import("./commands/Chat.ts"),
    (m) => m.chat(Flags.given(parsed))
  )
).pipe(
  Command.withDescription("A conversation: type while it works, Esc cancels the run, Ctrl-C twice leaves"),
  Command.withExamples([
    { command: "settle chat --session plans", description: "goes on in that session, or begins it" }
  ])
)

const session = Argument.String("session").pipe(Argument.withDescription("Name of a session, or the path of its file"))

const resume = Command.make(
  "resume",
  {
    ...Flags.resuming,
    spend: Flags.spend,
    target: session,
    prompt: Argument.String("prompt").pipe(
      Argument.withDescription("What to do next. Default: go on"),
      Argument.optional
    )
  },
  (parsed) =>
    lazily(
      () => import("./commands/Resume.ts"),
      (m) => m.resume(Flags.given(parsed))
    )
).pipe(Command.withDescription("Go on with a transcript; says first what the open calls of the last process are"))

const tools = Command.make("tools", Flags.listing, (parsed) =>
  lazily(
    () => import("./commands/Tools.ts"),
    (m) => m.tools(Flags.given(parsed))
  )
).pipe(Command.withDescription("The tools as the model sees them, their class and the rule that applies"))

const mcp = Command.make("mcp").pipe(
  Command.withDescription("The configured MCP servers"),
  Command.withSubcommands([
    Command.make("check", Flags.listing, (parsed) =>
      lazily(
        () => import("./commands/Mcp.ts"),
        (m) => m.check(Flags.given(parsed))
      )
    ).pipe(Command.withDescription("Connect every configured server, say what it offers or why it failed"))
  ])
)

const models = Command.make("models", Flags.listing, (parsed) =>
  lazily(
    () => import("./commands/Models.ts"),
    (m) => m.models(Flags.given(parsed))
  )
).pipe(Command.withDescription("The configured models: server, window, completion cap, key"))

const newName = Argument.String("name").pipe(Argument.withDescription("The new name"))
const all = Flag.Boolean("all").pipe(Flag.withDescription("Of every project"), Flag.withDefault(false))
const output = Flags.listing.output

const inSessions = <A, E, R>(use: (module: typeof import("./commands/Sessions.ts")) => Effect.Effect<A, E, R>) =>
  lazily(() => import("./commands/Sessions.ts"), use)

const sessions = Command.make("sessions").pipe(
  Command.withDescription("The transcripts: look at them, search, fork, rename, export, mend"),
  Command.withSubcommands([
    Command.make("list", { all, output }, (parsed) => inSessions((m) => m.list(parsed))).pipe(
      Command.withDescription("Sessions of this project, the last written first")
    ),
    Command.make("show", { session, output }, (parsed) => inSessions((m) => m.show(parsed))).pipe(
      Command.withDescription("The conversation, and what is known about each call")
    ),
    Command.make("search", { text: Argument.String("text"), all, output }, (parsed) =>
      inSessions((m) => m.search(parsed))
    ).pipe(Command.withDescription("Messages that hold a text")),
    Command.make(
      "fork",
      {
        session,
        name: newName,
        at: Flag.String("at").pipe(
          Flag.withMetavar("LINE"),
          Flag.withDescription("The last line to keep, by number or id. Default: all of them"),
          Flag.optional
        )
      },
      (parsed) => inSessions((m) => m.fork(Flags.given(parsed)))
    ).pipe(Command.withDescription("A new session that begins as a copy of another")),
    Command.make("rename", { session, name: newName }, (parsed) => inSessions((m) => m.rename(parsed))).pipe(
      Command.withDescription("Another name for a session")
    ),
    Command.make(
      "export",
      {
        session,
        format: Flag.Literals("format", ["md", "html"]).pipe(
          Flag.withDescription("Markdown, or one HTML file"),
          Flag.withDefault("md")
        ),
        to: Flag.String("to").pipe(Flag.withMetavar("FILE"), Flag.withDescription("Default: stdout"), Flag.optional)
      },
      (parsed) => inSessions((m) => m.write(Flags.given(parsed)))
    ).pipe(Command.withDescription("The conversation for people, as Markdown or HTML")),
    Command.make(
      "doctor",
      {
        session: session.pipe(Argument.optional),
        repair: Flag.Boolean("repair").pipe(
          Flag.withDescription("Append what is proposed; nothing is ever changed or deleted"),
          Flag.withDefault(false)
        ),
        output
      },
      (parsed) => inSessions((m) => m.doctor(Flags.given(parsed)))
    ).pipe(Command.withDescription("What is wrong, what each open call means, what a repair would do"))
  ])
)

const demo = Command.make(
  "demo",
  {
    dir: Flag.String("dir").pipe(
      Flag.withMetavar("DIR"),
      Flag.withDescription("Folder for the demo. Default: a new temporary one"),
      Flag.optional
    ),
    serve: Flag.String("serve").pipe(Flag.optional, Flag.withHidden)
  },
  (parsed) =>
    lazily(
      () => import("./commands/Demo.ts"),
      (m) => m.demo(Flags.given(parsed))
    )
).pipe(Command.withDescription("A run that is killed in the middle of a tool call, and resumed: no key, no network"))

const settle = Command.make("settle").pipe(
  Command.withDescription("An agent runtime that never calls an unknown outcome a failure"),
  Command.withSubcommands([runCommand, chat, resume, sessions, tools, mcp, models, demo])
)

/** Help that was asked for is output; a usage error is a paragraph on stderr. */
const presenter: CliOutput.Presenter = {
  present: (event) =>
    event._tag === "InvalidInvocation"
      ? Console.error(usageError(event.commandPath, event.errors))
      : CliOutput.defaultPresenter.present(event)
}

const usageError = (path: ReadonlyArray<string>, errors: ReadonlyArray<CliError.CliError>): string =>
  `${errors.map((error) => Failure.sentence(oneParagraph(error.message))).join(" ")} See ${path.join(" ")} --help.`

const oneParagraph = (text: string): string =>
  text
    .replace(
      /\s*Did you mean this\?\s*(.+)$/s,
      (_, words: string) => `. Did you mean ${words.trim().split(/\s+/).join(" or ")}?`
    )
    .split("\n")
    .map(Neutral.line)
    .join(" ")

const badUsage = new Failure.CommandError({ code: Exit.usage, detail: "" })

const { Completions, Help, LogLevel, Version } = GlobalFlag
const builtIns: ReadonlyArray<GlobalFlag.BuiltIn> = [Help, Version, Completions, LogLevel]

const parsed = Command.runWith(settle, { version })

/** Runs one command line. Fails with what the command failed with; a usage error has been told already. */
export const run = (args: ReadonlyArray<string>) =>
  parsed(args).pipe(
    Effect.catchTag("ShowHelp", (error) => (error.errors.length > 0 ? Effect.fail(badUsage) : Effect.void)),
    Effect.provide([CliOutput.layerPresenter(presenter), CliConfig.layer({ builtIns })])
  )

/** `warning: text` on one line. */
export const logLine = Logger.make(({ logLevel, message }) => {
  const parts = Array.isArray(message) ? message : [message]
  return Neutral.line(
    `${logLevel.toLowerCase()}: ${parts.map((part) => (typeof part === "string" ? part : JSON.stringify(part))).join(" ")}`
  )
})
