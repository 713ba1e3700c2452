/**
 * One HTTP request, as plain as the protocol allows: no time limit of its own, no redirect followed, no body kept that was not asked
 * for.
 *
 * H1. A failure says whether the request can have left this machine: before the connection stood it cannot (X-CANC-04).
 * H2. Interruption closes the connection.
 * H3. What one read brought is handed over in that turn.
 */
import * as http from "node:http"
import * as https from "node:https"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

export class HttpError extends Data.TaggedError("HttpError")<{
  readonly detail: string
  readonly sent: boolean
}> {}

export interface Request {
  readonly method: "POST" | "GET" | "DELETE"
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /**
   * On a connection of its own: one that the other side has just closed is found out only after the request went into it, and
   * what would otherwise be "not sent" is then unknown.
   */
  readonly alone?: boolean
}

export interface Response {
  readonly status: number
  readonly header: (name: string) => string | undefined
  /** The whole body, at most `limit` characters of it. */
  readonly text: (limit: number) => Effect.Effect<string, HttpError>
  /** Hands over the body as it comes; completes at its end. `false` from `onText` stops early. */
  readonly each: (onText: (text: string) => boolean) => Effect.Effect<void, HttpError>
}

/** Connections are kept for a moment only. */
export const makeAgents = Effect.acquireRelease(
  Effect.sync(() => {
    const options = { keepAlive: true, timeout: 2_000 }
    return { http: new http.Agent(options), https: new https.Agent(options) }
  }),
  (agents) =>
    Effect.sync(() => {
      agents.http.destroy()
      agents.https.destroy()
    })
)
export type Agents = Effect.Success<typeof makeAgents>

/** Answers when the headers are there. The scope owns the connection. */
export const send = (agents: Agents, request: Request): Effect.Effect<Response, HttpError, Scope.Scope> =>
  Effect.gen(function* () {
    let out: http.ClientRequest | undefined = undefined
    yield* Effect.addFinalizer(() => Effect.sync(() => out?.destroy()))
    return yield* Effect.callback<Response, HttpError>((resume) => {
      const secure = request.url.protocol === "https:"
      const options: https.RequestOptions = {
        method: request.method,
        headers: {
          ...request.headers,
          ...(request.body === undefined ? {} : { "content-length": Buffer.byteLength(request.body) })
        },
        agent: request.alone === true ? false : secure ? agents.https : agents.http
      }
      let connected = false
      const made = secure ? https.request(request.url, options) : http.request(request.url, options)
      out = made
      made.on("socket", (socket) => {
        if (!socket.connecting) connected = true
        // over TLS the request leaves after the handshake, so a bad certificate still counts as never sent
        else socket.once(secure ? "secureConnect" : "connect", () => (connected = true))
      })
      made.on("error", (error) => resume(Effect.fail(new HttpError({ detail: told(error), sent: connected }))))
      made.on("response", (response) => resume(Effect.succeed(read(response))))
      made.end(request.body)
    })
  })

const read = (response: http.IncomingMessage): Response => {
  response.setEncoding("utf8")
  // an error before anybody reads must not end this process; a reader hears it as an early close
  response.on("error", () => undefined)
  const each: Response["each"] = (onText) =>
    Effect.callback((resume) => {
      response.on("data", (text: string) => {
        if (onText(text)) return
        response.destroy()
        resume(Effect.void)
      })
      response.on("end", () => resume(Effect.void))
      response.on("close", () => {
        if (!response.complete) resume(Effect.fail(new HttpError({ detail: "its stream broke off", sent: true })))
      })
    })
  return {
    status: response.statusCode ?? 0,
    header: (name) => {
      const value = response.headers[name]
      return Array.isArray(value) ? value.join(", ") : value
    },
    each,
    text: (limit) => {
      const parts: Array<string> = []
      let length = 0
      const whole = each((text) => {
        parts.push(text)
        length += text.length
        return length <= limit
      })
      return Effect.flatMap(whole, () =>
        length > limit
          ? Effect.fail(new HttpError({ detail: `its answer has more than ${limit} characters`, sent: true }))
          : Effect.succeed(parts.join(""))
      )
    }
  }
}

const told = (error: Error): string => {
  const code = "code" in error ? String(error.code) : ""
  switch (code) {
    case "ECONNREFUSED":
      return "the connection was refused; nothing listens there"
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return "its host name is not known"
    case "ECONNRESET":
      return "the connection was reset"
    default:
      return error.message === "" ? code : error.message
  }
}
