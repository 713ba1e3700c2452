/** The flags that `run`, `chat` and `resume` share, and the plain record they become. */
import * as Option from "effect/Option"
import * as Flag from "effect/cli/Flag"

const text = (name: string, metavar: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar(metavar), Flag.withDescription(description), Flag.optional)

const many = (name: string, metavar: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar(metavar), Flag.withDescription(description), Flag.atLeast(0))

const count = (name: string, description: string) =>
  Flag.Int(name).pipe(Flag.withMetavar("N"), Flag.withDescription(description), Flag.optional)

export const config = text("config", "FILE", "Configuration file. Default: the nearest settle.json, then the user's")

/** What chooses a model. */
export const model = {
  config,
  model: many("model", "NAME", "Model to use; given again, a fallback chain in that order"),
  baseUrl: text("base-url", "URL", "Server of the model, up to and without /chat/completions"),
  apiKeyEnv: text("api-key-env", "VAR", "Environment variable that holds the API key")
}

const transcript = {
  session: text("session", "NAME|PATH", "Transcript to write: a name, or the path of a .jsonl file"),
  noSession: Flag.Boolean("no-session").pipe(Flag.withDescription("Write no transcript"), Flag.withDefault(false))
}

/** What a run takes that has its transcript already. */
export const resuming = {
  ...model,
  system: text("system", "FILE", "File with the system prompt"),
  allow: many("allow", "PATTERN", "Tools that may run without asking: a name, or a prefix ending in *"),
  deny: many("deny", "PATTERN", "Tools that may not run"),
  ask: Flag.Literals("ask", ["always", "never", "tty"]).pipe(
    Flag.withDescription(
      "Who answers a question about a call: this terminal, nobody, or this terminal when there is one"
    ),
    Flag.withDefault("tty")
  ),
  maxCost: Flag.Finite("max-cost").pipe(
    Flag.withMetavar("USD"),
    Flag.withDescription("End the run when it has cost so much"),
    Flag.optional
  ),
  maxTotalTokens: count("max-total-tokens", "End the run when it has used so many tokens"),
  maxWallClock: text("max-wall-clock", "TIME", 'End the run after so much working time, like "20 minutes"'),
  maxToolRounds: count("max-tool-rounds", "Rounds with tool calls before an answer is demanded"),
  maxToolCalls: count("max-tool-calls", "Tool calls before an answer is demanded"),
  toolDeadline: text("tool-deadline", "TIME", 'Give a call up after so much working time, like "2 minutes"'),
  toolRouting: Flag.Literals("tool-routing", ["native", "schema"]).pipe(
    Flag.withDescription("How the model calls tools: its own way, or one constrained JSON value"),
    Flag.optional
  ),
  output: Flag.Literals("output", ["text", "json", "events"]).pipe(
    Flag.withDescription("What stdout carries: the answer, one outcome object, or one event per line"),
    Flag.withDefault("text")
  )
}

/** For a transcript that is gone on with. */
export const spend = Flag.Literals("spend", ["transcript", "fresh"]).pipe(
  Flag.withDescription("What the caps count: all that the transcript says was spent, or this run alone (the default)"),
  Flag.optional
)

export const shared = { ...resuming, ...transcript }

/** For commands that print a list. */
export const listing = {
  config,
  output: Flag.Literals("output", ["text", "json"]).pipe(
    Flag.withDescription("For people or for programs"),
    Flag.withDefault("text")
  )
}

export type Output = "text" | "json" | "events"
export type Ask = "always" | "never" | "tty"

/** Flags that shape the plan of a run, as plain values; what was not given is absent. */
export interface Flags {
  readonly model: ReadonlyArray<string>
  readonly baseUrl?: string
  readonly apiKeyEnv?: string
  readonly allow: ReadonlyArray<string>
  readonly deny: ReadonlyArray<string>
  readonly maxCost?: number
  readonly maxTotalTokens?: number
  readonly maxWallClock?: string
  readonly maxToolRounds?: number
  readonly maxToolCalls?: number
  readonly toolDeadline?: string
  readonly toolRouting?: "native" | "schema"
  readonly spend?: "transcript" | "fresh"
}

export const none: Flags = { model: [], allow: [], deny: [] }

/** Optional flags become optional keys. */
type Given<A> = {
  readonly [K in keyof A as A[K] extends Option.Option<unknown> ? never : K]: A[K]
} & {
  readonly [K in keyof A as A[K] extends Option.Option<unknown> ? K : never]?: A[K] extends Option.Option<infer B>
    ? B
    : never
}

/** Drops every flag that was not given. */
export const given = <A extends { readonly [name: string]: unknown }>(parsed: A): Given<A> =>
  Object.fromEntries(
    Object.entries(parsed).flatMap(([name, value]) =>
      !Option.isOption(value) ? [[name, value]] : Option.isSome(value) ? [[name, value.value]] : []
    )
  ) as Given<A>

/** All that `resume` takes. */
export interface Resuming extends Flags {
  readonly config?: string
  readonly system?: string
  readonly ask: Ask
  readonly output: Output
}

/** All that `run` and `chat` take. */
export interface Shared extends Resuming {
  readonly session?: string
  readonly noSession: boolean
}
