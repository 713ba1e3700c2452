/**
 * The beginning of a session: `initialize` within its deadline, and what the server says of itself. A failure names the server, what
 * it printed, and what to do (M8).
 */
import type { Client as Sdk } from "@modelcontextprotocol/sdk/client/index.js"
import { McpError as SdkError } from "@modelcontextprotocol/sdk/types.js"
import * as Json from "@settle/core/model/Json"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Link from "./Link.ts"
import * as McpError from "./McpError.ts"
import * as ServerSpec from "./ServerSpec.ts"
import * as Session from "./Session.ts"

/** What the server said of itself. */
export interface About {
  readonly name: string
  readonly version: string
  readonly instructions?: string
  readonly capabilities: Json.JsonObject
}

const connectDefault = "20 seconds"

export const open = (session: Session.Session): Effect.Effect<void, McpError.Reason> => {
  const limit = Duration.fromInputUnsafe(session.spec.connectTimeout ?? connectDefault)
  const failed = (detail: string): McpError.ConnectFailed =>
    new McpError.ConnectFailed({
      target: ServerSpec.shown(session.spec),
      detail,
      evidence: Link.findings(session.link.evidence()),
      advice: advice(session.spec)
    })
  // no signal: the protocol does not let a client cancel `initialize`; the closing scope ends it
  const opened = Effect.callback<void, McpError.Reason>((resume) => {
    void session.sdk.connect(session.link.transport, { timeout: Session.never }).then(
      () => resume(Effect.void),
      (cause: unknown) => {
        const asked = McpError.isReason(cause) && cause._tag === "Unauthorized"
        resume(Effect.fail(asked ? cause : failed(refusal(session, cause))))
      }
    )
  })
  const late = Effect.suspend(() =>
    Effect.fail(failed(`it did not answer \`initialize\` within ${Duration.toSeconds(limit)} seconds`))
  )
  return Effect.raceFirst(opened, Effect.andThen(waited(session, Duration.toMillis(limit)), late))
}

const look = 500

/** `millis` of the server's own time: while a person logs in, its clock stands still. */
const waited = (session: Session.Session, millis: number): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (let left = millis; left > 0;) {
      yield* Effect.sleep(Math.min(left, look))
      left = session.link.busy() ? millis : left - look
    }
  })

const refusal = (session: Session.Session, cause: unknown): string => {
  if (McpError.isReason(cause)) return cause.message
  const ended = session.link.ended()
  if (ended !== undefined && ended !== "was closed by us") return `it ${ended} before it answered \`initialize\``
  if (cause instanceof SdkError)
    return `it answered \`initialize\` with error ${cause.code}: ${Session.bareMessage(cause)}`
  return `its answer to \`initialize\` cannot be used: ${cause instanceof Error ? cause.message : String(cause)}`
}

const advice = (spec: ServerSpec.ServerSpec): string =>
  ServerSpec.isStdio(spec)
    ? 'Run the command by hand to see whether it is an MCP server over stdio; raise "connectTimeout" if it is only slow'
    : 'Check the URL and the "headers"; raise "connectTimeout" if the server is only slow'

export const setLogLevel = (session: Session.Session): Effect.Effect<void> => {
  const { logLevel } = session.spec
  if (logLevel === undefined || session.sdk.getServerCapabilities()?.logging === undefined) return Effect.void
  return Session.short(session, "logging/setLevel", (options) => session.sdk.setLoggingLevel(logLevel, options)).pipe(
    Effect.catch((reason) =>
      Effect.logWarning(`MCP server ${session.server} keeps its own log level: ${reason.message}`)
    ),
    Effect.asVoid
  )
}

export const about = (sdk: Sdk): About => {
  const version = sdk.getServerVersion()
  const instructions = sdk.getInstructions()
  const capabilities = Json.fromUnknown(sdk.getServerCapabilities() ?? {})
  return {
    name: version?.name ?? "unnamed",
    version: version?.version ?? "unknown",
    ...(instructions === undefined ? {} : { instructions }),
    capabilities: Json.isObject(capabilities) ? capabilities : {}
  }
}
