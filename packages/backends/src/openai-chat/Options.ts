/** How a chat-completions backend is configured, checked once. */
import type * as Refusal from "@settle/core/model/Refusal"
import * as Result from "effect/Result"
import * as Common from "../Options.ts"
import * as Settings from "../Settings.ts"
import * as Dialect from "./Dialect.ts"

export interface Options extends Common.Options {
  /** Up to and without `/chat/completions`: `http://127.0.0.1:8080/v1`. The key is sent as a bearer token. */
  readonly baseUrl: string
  /** Completion cap of every request. Default: none is sent. */
  readonly maxTokens?: number | undefined
  /** Ask for usage on the stream (X-WIRE-05). Default: only of hosts known to take it. */
  readonly includeUsage?: boolean | undefined
  /** Whether earlier reasoning goes back (F8). Default: as the host wants it; an unknown host gets none. */
  readonly replayReasoning?: Dialect.ReplayReasoning | undefined
  /**
   * Whether the model sees pictures (M13). True sends those of results too, as a user's message behind the results of the turn; false
   * sends none. Default: those of users alone. What is not sent is said to be left out.
   */
  readonly vision?: boolean | undefined
  /** This server sends the arguments of a call from the start in each fragment (D6). Default false. */
  readonly cumulativeArguments?: boolean
}

export interface Checked extends Common.Checked {
  readonly dialect: Dialect.Dialect
  readonly cumulative: boolean
}

const endpoint = (baseUrl: string): Result.Result<URL, Refusal.Refusal> =>
  Result.map(Settings.address(baseUrl, "http://127.0.0.1:8080/v1"), (url) => {
    const path = url.pathname.replace(/\/+$/, "")
    url.pathname = path.endsWith("/chat/completions") ? path : `${path}/chat/completions`
    return url
  })

/** `keyName`: where a user would put the key, for the text that says it is missing. */
export const check = (options: Options, keyName = "apiKey"): Result.Result<Checked, Refusal.Refusal> =>
  Result.gen(function* () {
    const url = yield* endpoint(options.baseUrl)
    yield* Common.cap(options.maxTokens)
    const dialect = Dialect.of(url.hostname)
    const checked = yield* Common.check(options, {
      url,
      needsKey: dialect.needsKey,
      keyName,
      keyHeaders: /^(authorization|(x-)?api-key)$/i,
      authorize: (key) => ["authorization", `Bearer ${key}`]
    })
    return {
      ...checked,
      dialect: {
        ...dialect,
        ...(options.vision === undefined ? {} : { vision: options.vision }),
        includeUsage: options.includeUsage ?? dialect.includeUsage,
        replayReasoning: options.replayReasoning ?? dialect.replayReasoning
      },
      cumulative: options.cumulativeArguments ?? false
    }
  })
