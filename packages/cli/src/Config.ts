/**
 * The configuration file: its schema, and how a text becomes a value or a list of faults. Pure; The file itself is found by
 * `ConfigFile`.
 *
 * K1. The schema that decodes is the schema that is published (`settle.schema.json`).
 * K2. A key or value that is not known is refused with its path and the nearest known word; nothing is ignored.
 */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { idempotencies } from "@settle/core/model/Tool"
import * as Pattern from "@settle/core/model/Pattern"
import * as Rules from "@settle/core/tools/Rules"
import * as Jsonc from "./Jsonc.ts"
import * as ConfigFault from "./ConfigFault.ts"
import * as Protocols from "./Protocols.ts"

const optional = Schema.optionalKey
const described = (description: string) => ({ description })

const durationOf = Schema.decodeUnknownOption(Schema.DurationFromString)

const isDuration = (text: string): boolean =>
  Option.exists(durationOf(text), (duration) => {
    const ms = Duration.toMillis(duration)
    return ms > 0 && Number.isFinite(ms)
  })

/** A length of time above zero, written as text: `20 seconds`, `10 minutes`. */
const time = (description: string) =>
  Schema.String.annotate({ description, examples: ["20 seconds", "10 minutes"] })
    .check(
      Schema.makeFilter((text: string) =>
        isDuration(text) ? undefined : `"${text}" is not a duration above zero: write it like "30 seconds"`
      )
    )
    .pipe(Schema.decodeTo(Schema.DurationFromString))

const ToolPattern = Schema.String.annotate(described("A tool's name, or a prefix ending in *.")).check(
  Schema.makeFilter((text: string) => Pattern.fault(text) ?? undefined)
)

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
const Positive = Schema.Int.check(Schema.isGreaterThan(0))
const Fraction = Schema.Finite.check(Schema.isGreaterThan(0), Schema.isLessThanOrEqualTo(1))

const common = {
  connectTimeout: optional(time("From the start to a session. Default 20 seconds.")),
  requestTimeout: optional(time("For lists, reads and the like; never for a tool call. Default 30 seconds.")),
  callSilence: optional(
    time("A call without any progress for so long is given up. Default: the run's own deadline decides.")
  ),
  callCeiling: optional(time("A call is given up after this, progress or not. Default 1 hour.")),
  logLevel: optional(
    Schema.Literals(["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]).annotate(
      described("What a server that can log is asked for.")
    )
  ),
  roots: optional(Schema.Array(Schema.String).annotate(described("Folders the server may ask for. Default: none.")))
}

export const StdioServer = Schema.Struct({
  command: Schema.NonEmptyString.annotate(described("Program to start; it speaks MCP on stdin and stdout.")),
  args: optional(Schema.Array(Schema.String)),
  env: optional(
    Schema.Record(Schema.String, Schema.String).annotate(
      described("Added to a small safe environment. ${NAME} stands for a variable of the environment.")
    )
  ),
  cwd: optional(Schema.NonEmptyString.annotate(described("Default: the folder of the project."))),
  ...common
})

const Auth = Schema.Struct({
  clientId: optional(Schema.NonEmptyString.annotate(described("A client that was registered by hand."))),
  clientSecretEnv: optional(
    Schema.NonEmptyString.annotate(
      described("Environment variable that holds its secret. It never stands in this file.")
    )
  ),
  issuer: optional(
    Schema.NonEmptyString.annotate(
      described("The login service that clientId was registered with; it is then shown to no other.")
    )
  ),
  clientMetadataUrl: optional(
    Schema.NonEmptyString.annotate(described("Where this client is described, for servers that take a URL as its id."))
  ),
  scope: optional(Schema.NonEmptyString.annotate(described("Space-separated. Default: what the server asks for."))),
  grant: optional(
    Schema.Literals(["authorization_code", "client_credentials"]).annotate(
      described("client_credentials needs nobody at the screen, and clientSecretEnv. Default authorization_code.")
    )
  ),
  redirectPort: optional(
    Schema.Int.check(Schema.isGreaterThan(0), Schema.isLessThanOrEqualTo(65535)).annotate(
      described("Where the login comes back to on this machine. Default 33418, or any free one.")
    )
  )
})
export type Auth = typeof Auth.Type

export const HttpServer = Schema.Struct({
  url: Schema.NonEmptyString.annotate(described("Streamable HTTP endpoint.")),
  headers: optional(
    Schema.Record(Schema.String, Schema.String).annotate(described("${NAME} stands for a variable of the environment."))
  ),
  auth: optional(
    Auth.annotate(
      described("How to log in where the server wants it. Without it this client registers itself and asks the user.")
    )
  ),
  ...common
})

export const Server = Schema.Union([StdioServer, HttpServer])
export type Server = typeof Server.Type

const { check: _, ...members } = Rules.members

/** A rule as the policy reads it, less the predicates that only a host could bring. */
export const Rule = Schema.Struct({
  ...members,
  under: members.under.pipe(Schema.annotateKey(described("Folder that every path of the call must lie in."))),
  host: members.host.pipe(Schema.annotateKey(described("Exact host of the call's url, or *.host."))),
  command: members.command.pipe(
    Schema.annotateKey(described("Basename of the program the call would start, or a prefix ending in *."))
  ),
  args: members.args.pipe(Schema.annotateKey(described("First arguments of that program. Needs command."))),
  argsAny: members.argsAny.pipe(Schema.annotateKey(described("Any of these among its arguments. Needs command."))),
  note: members.note.pipe(Schema.annotateKey(described("Why, for whoever is asked or refused.")))
})
export type Rule = typeof Rule.Type

const Idempotency = Schema.Struct({ tool: ToolPattern, idempotency: Schema.Literals(idempotencies) })

const Budget = Schema.Struct({
  maxCost: optional(
    Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0)).annotate(described("US dollars for one run."))
  ),
  maxTotalTokens: optional(Count),
  maxWallClock: optional(time("Working time of one run; parked time does not count.")),
  maxObservationSize: optional(
    Positive.annotate(described("Characters of a tool result that reach the model. Default 16384."))
  )
})

const Compaction = Schema.Struct({
  trigger: optional(
    Fraction.annotate(described("Part of the window at which older turns are summarised. Default 0.8."))
  ),
  target: optional(Fraction.annotate(described("Part of the window that is left afterwards. Default 0.4.")))
})

const Limits = Schema.Struct({
  maxToolRounds: optional(Count),
  maxToolCalls: optional(Count),
  maxIdenticalCalls: optional(Positive),
  toolDeadline: optional(time("Working time of one call or group; time a human is asked does not count.")),
  maxRetries: optional(Positive.annotate(described("Sends for each backend, the first included."))),
  backoffCap: optional(time("Longest wait between two sends. Default 30 seconds.")),
  roundTripTimeout: optional(time("Longest silence of an answer, not its whole time. Default 120 seconds.")),
  contentTimeout: optional(
    time("Longest time without content while an answer only says that it lives. Default 600 seconds.")
  ),
  parkIdleTimeout: optional(time("Longest wait for background work. Default 1800 seconds."))
})

const Chain = Schema.Array(Schema.Union([Schema.String, Protocols.Model]))

export const Config = Schema.Struct({
  $schema: optional(Schema.String),
  models: optional(
    Schema.Record(Schema.String, Schema.Union([Protocols.Model, Chain])).annotate(
      described("Names for --model. A list is a fallback chain, in order; it may name other entries.")
    )
  ),
  model: optional(
    Schema.Union([Schema.String, Schema.Array(Schema.String)]).annotate(described("What runs without --model."))
  ),
  mcpServers: optional(Schema.Record(Schema.String, Server)),
  rules: optional(
    Schema.Array(Rule).annotate(described("Who decides about a call: deny before ask before allow; no rule asks."))
  ),
  idempotency: optional(
    Schema.Array(Idempotency).annotate(
      described("Overrules what a tool says of itself. It words a repair and decides nothing else.")
    )
  ),
  concurrentTools: optional(
    Schema.Array(ToolPattern).annotate(described("Tools whose neighbouring calls may run side by side."))
  ),
  toolRouting: optional(Schema.Literals(["native", "schema"])),
  budget: optional(Budget),
  compaction: optional(Compaction),
  limits: optional(Limits),
  identicalCallExempt: optional(Schema.Array(ToolPattern))
}).annotate({ title: "Settle", description: "Configuration of the settle command." })
export type Config = typeof Config.Type

export const empty: Config = {}

/** The published JSON schema, as a plain value. */
export const jsonSchema = (): Record<string, unknown> => {
  const { definitions, schema } = Schema.toJsonSchemaDocument(Config, { onExcessProperty: "error" })
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    ...schema,
    ...(Object.keys(definitions).length === 0 ? {} : { $defs: definitions })
  }
}

const serverKinds = { command: Object.keys(StdioServer.fields), url: Object.keys(HttpServer.fields) }

const decodeConfig = Schema.decodeUnknownResult(Config, { errors: "all", onExcessProperty: "error" })

/** A text becomes a configuration or its faults, mistyped keys first. */
export const parse = (text: string): Result.Result<Config, ReadonlyArray<ConfigFault.Fault>> => {
  const read = Jsonc.parse(text)
  if (Result.isFailure(read)) {
    const { column, line, problem } = read.failure
    return Result.fail([{ path: "", problem: `line ${line}, column ${column}: ${problem}` }])
  }
  return decode(read.success)
}

export const decode = (value: unknown): Result.Result<Config, ReadonlyArray<ConfigFault.Fault>> =>
  Result.mapError(decodeConfig(value), (error) =>
    ConfigFault.explain(error.issue, { value, published: jsonSchema(), protocols: Protocols.names, kinds: serverKinds })
  )
