/**
 * KoboldCpp: chat completions whose cancel really ends the generation.
 *
 * A1. A reply that was left (interrupted, cut, timed out) is aborted at the server by the key it was asked under, after the
 *     connection is closed here: no other request's generation is touched.
 * A2. The abort never fails, never lasts longer than its bound, and nobody waits for it but the closing scope of the backend.
 * A3. Headers may take for ever: the server answers one request at a time, and the others wait in its queue.
 */
import type * as Refusal from "@settle/core/model/Refusal"
import * as Port from "@settle/core/port/Backend"
import { IdGenerator } from "@settle/core/port/IdGenerator"
import * as Config from "effect/Config"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { BodyReader } from "./BodyReader.ts"
import * as Http from "./Http.ts"
import { Assembly } from "./openai-chat/Assemble.ts"
import * as OptionsCheck from "./openai-chat/Options.ts"
import { Encoder } from "./openai-chat/Request.ts"
import * as Settings from "./Settings.ts"
import * as Streaming from "./Streaming.ts"

export interface Options extends Omit<OptionsCheck.Options, "baseUrl" | "model"> {
  /** Default `http://127.0.0.1:5001/v1`. */
  readonly baseUrl?: string | undefined
  /** The server runs one model and answers to any name. Default `koboldcpp`. */
  readonly model?: string | undefined
  /** Longest wait for the server to take an abort. Default 5 seconds. */
  readonly abortTimeout?: Duration.Input
}

export const defaultBaseUrl = "http://127.0.0.1:5001/v1"
export const defaultModel = "koboldcpp"

/** One backend. The aborts still on their way when its scope closes are waited for, no longer than `abortTimeout`. */
export const make = (
  options: Options = {},
  keyName?: string
): Effect.Effect<Port.Backend, Refusal.Refusal, Scope.Scope> =>
  Effect.gen(function* () {
    const { abortTimeout, ...chat } = options
    const model = options.model ?? defaultModel
    const full = { headersTimeout: Duration.infinity, idleBytesTimeout: "30 minutes", ...chat, model } as const
    const checked = yield* Effect.fromResult(
      OptionsCheck.check({ ...full, baseUrl: options.baseUrl ?? defaultBaseUrl }, keyName)
    )
    const within = yield* Effect.fromResult(Settings.duration("abortTimeout", abortTimeout ?? "5 seconds"))
    const http = yield* Http.Http
    const running = yield* FiberSet.make<void>()
    yield* Effect.addFinalizer(() => Effect.interruptible(Effect.timeoutOption(FiberSet.awaitEmpty(running), within)))
    const { maxTokens, params = {} } = options
    const encoder = new Encoder({ model, dialect: checked.dialect, maxTokens, params })
    const open = (request: Port.Request, genkey: string) =>
      Streaming.stream(
        {
          http,
          endpoint: checked,
          prepare: (given) => keyed(encoder.prepare(given), genkey),
          reader: () => new BodyReader(new Assembly(checked), checked.maxEventSize)
        },
        request
      )
    const aborting: Aborting = { http, endpoint: { ...checked, url: abortUrl(checked.url) }, within, running }
    return {
      model,
      maxTokens,
      canConstrain: options.canConstrain ?? true,
      stream: (request) => abortable(aborting, (genkey) => open(request, genkey))
    }
  })

/** A chain of this one backend. */
export const layer = (options: Options = {}): Layer.Layer<Port.Backends, Refusal.Refusal> =>
  Layer.effect(
    Port.Backends,
    Effect.map(make(options), (backend) => ({ chain: [backend] }))
  )

/** `KOBOLDCPP_BASE_URL`, `KOBOLDCPP_MODEL`, `KOBOLDCPP_API_KEY`; none of them is needed. */
export const config = Config.all({
  baseUrl: Config.String("KOBOLDCPP_BASE_URL").pipe(Config.withDefault(defaultBaseUrl)),
  model: Config.String("KOBOLDCPP_MODEL").pipe(Config.withDefault(defaultModel)),
  apiKey: Config.option(Config.Redacted("KOBOLDCPP_API_KEY"))
})

/** A chain of the one backend that the environment describes. */
export const layerConfig: Layer.Layer<Port.Backends, Refusal.Refusal | Config.ConfigError> = Layer.effect(
  Port.Backends,
  Effect.gen(function* () {
    const { apiKey, baseUrl, model } = yield* config
    const backend = yield* make({ baseUrl, model, apiKey: Option.getOrUndefined(apiKey) }, "KOBOLDCPP_API_KEY")
    return { chain: [backend] }
  })
)

/** The server's own routes stand beside `/v1`. */
const abortUrl = (chat: URL): URL => {
  const url = new URL(chat)
  url.pathname = `${url.pathname.replace(/\/chat\/completions$/, "").replace(/\/v1$/, "")}/api/extra/abort`
  return url
}

interface Aborting {
  readonly http: Http.Http
  readonly endpoint: Streaming.Endpoint
  readonly within: Duration.Duration
  readonly running: FiberSet.FiberSet<void>
}

/** The body with one more member. */
const keyed = (prepared: Streaming.Prepared, genkey: string): Streaming.Prepared => ({
  ...prepared,
  body: Buffer.concat([prepared.body.subarray(0, -1), Buffer.from(`,"genkey":${JSON.stringify(genkey)}}`)])
})

/** The server learns that nobody wants this generation; what it says to that changes nothing. */
const abort = ({ endpoint, http, within }: Aborting, genkey: string): Effect.Effect<void> =>
  http
    .post({
      url: endpoint.url,
      headers: endpoint.headers,
      body: Buffer.from(JSON.stringify({ genkey })),
      headersTimeout: within,
      idleBytesTimeout: within
    })
    .pipe(Effect.scoped, Effect.timeoutOption(within), Effect.ignoreCause)

/** The server never began, or has ended by itself. */
const isOver = (error: Port.BackendError): boolean =>
  error.reason._tag === "ConnectionFailed" || error.reason._tag === "Refused"

const abortable = (
  self: Aborting,
  open: (genkey: string) => Stream.Stream<Port.Chunk, Port.BackendError>
): Stream.Stream<Port.Chunk, Port.BackendError> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const ids = yield* IdGenerator
      const genkey = `settle-${yield* ids.next}`
      let over = false
      // the scope closes the connection first: it was opened later
      yield* Effect.addFinalizer(() =>
        Effect.suspend(() => (over ? Effect.void : FiberSet.run(self.running, abort(self, genkey))))
      )
      return open(genkey).pipe(
        Stream.mapArray((chunks) => {
          over = chunks.at(-1)?._tag === "Finished"
          return chunks
        }),
        Stream.tapError((error) => Effect.sync(() => void (over = isOver(error))))
      )
    })
  )
