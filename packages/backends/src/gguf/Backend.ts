/**
 * Any model file of one's own (GGUF), run here by llama.cpp through `node-llama-cpp`, which is an optional peer.
 *
 * L1. The file is loaded at the first request, once; no reader's interruption spoils it for another.
 * L2. One request at a time: the next waits until the one before it has really stopped.
 * L3. What does not fit its window is refused and never evaluated, and nothing is dropped from a prompt behind anyone's back: a reply
 *     that meets the window's end says so.
 * L4. Calls and routed replies are held to their schemas by grammar; the prompt is the model's own template.
 */
import * as Refusal from "@settle/core/model/Refusal"
import * as Port from "@settle/core/port/Backend"
import { IdGenerator } from "@settle/core/port/IdGenerator"
import type { TokenCounter } from "@settle/core/port/TokenCounter"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import { existsSync } from "node:fs"
import { availableParallelism } from "node:os"
import { basename } from "node:path"
import * as Counter from "./Counter.ts"
import * as Generation from "./Generation.ts"
import * as Library from "./Library.ts"
import * as Model from "./Model.ts"

export interface Options {
  /** The model file. */
  readonly path: string
  /** What it is called in events and budgets. Default: the name of the file. */
  readonly model?: string | undefined
  /** Tokens, prompt and reply together. Default: what it was trained for, at most 8192. */
  readonly contextWindow?: number | undefined
  /** Completion cap in tokens. Default: what is left of the window. */
  readonly maxTokens?: number | undefined
  /** Default: one less than there are cores. */
  readonly threads?: number | undefined
  /** Use a graphics card where there is one. Default true. */
  readonly gpu?: boolean | undefined
  /** The chat template, by `node-llama-cpp`'s name for it. Default: the file's own. */
  readonly template?: string | undefined
  /** Default 0: the likeliest token, always. */
  readonly temperature?: number | undefined
  /** Of the draws, where the temperature is above 0. */
  readonly seed?: number | undefined
}

/** The file could not be loaded, or llama.cpp could not. */
export class LoadError extends Schema.TaggedError<LoadError>()("LoadError", {
  path: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return `the model file ${this.path} could not be loaded: ${this.detail}. Check that it is a GGUF file that llama.cpp knows, and that ${Library.install} ran on this machine`
  }
}

export interface Gguf extends Port.Backend {
  /** Loads the file, or answers what is loaded. */
  readonly load: Effect.Effect<Model.Model, LoadError>
}

const refuse = (setting: string, problem: string, remedy: string): Refusal.Refusal =>
  Refusal.refuse(new Refusal.InvalidSetting({ setting, problem, remedy }))

const whole: ReadonlyArray<"contextWindow" | "maxTokens" | "threads"> = ["contextWindow", "maxTokens", "threads"]

const check = (options: Options): Effect.Effect<void, Refusal.Refusal> =>
  Effect.gen(function* () {
    for (const setting of whole) {
      const value = options[setting]
      if (value !== undefined && !(Number.isInteger(value) && value > 0)) {
        return yield* refuse(setting, `${value} is not a whole number above zero`, "Leave it out for the default")
      }
    }
    if (!existsSync(options.path)) {
      return yield* refuse("path", `there is no file ${options.path}`, "Name a GGUF file that is there")
    }
  })

/** One backend. Refuses settings that cannot work, and a missing `node-llama-cpp`; the model leaves memory with the scope. */
export const make = (options: Options): Effect.Effect<Gguf, Refusal.Refusal, Scope.Scope> =>
  Effect.gen(function* () {
    yield* check(options)
    const file = yield* Library.find(Library.places())
    const name = options.model ?? basename(options.path).replace(/\.gguf$/i, "")
    const load = loading(file, options)
    const lane = Semaphore.makeUnsafe(1)
    yield* Effect.addFinalizer(() => load.unload(lane))
    return {
      model: name,
      maxTokens: options.maxTokens,
      canConstrain: true,
      load: load.model,
      stream: (request) => stream({ name, options, lane, load: load.model }, request)
    }
  })

/** Kept as a promise: whoever stops waiting for it stops nothing. */
const loading = (file: URL, { contextWindow, gpu = true, path, template, threads }: Options) => {
  let started: Promise<Model.Model> | undefined
  const settings = { path, contextWindow, gpu, template, threads: threads ?? Math.max(1, availableParallelism() - 1) }
  const start = () => Library.load(file).then((library) => Model.load(library, settings))
  return {
    model: Effect.tryPromise({
      try: () => (started ??= start()),
      catch: (cause) => new LoadError({ path, detail: cause instanceof Error ? cause.message : String(cause) })
    }),
    unload: (lane: Semaphore.Semaphore): Effect.Effect<void> =>
      Effect.suspend(() => {
        const loaded = started
        if (loaded === undefined) return Effect.void
        const dispose = Effect.promise(() => loaded.then(({ llama }) => llama.dispose()))
        return lane.take(1).pipe(Effect.andThen(dispose), Effect.timeoutOption("10 seconds"), Effect.ignoreCause)
      }).pipe(Effect.interruptible)
  }
}

/** A chain of this one backend. */
export const layer = (options: Options): Layer.Layer<Port.Backends, Refusal.Refusal> =>
  Layer.effect(
    Port.Backends,
    Effect.map(make(options), (backend) => ({ chain: [backend] }))
  )

/** `SETTLE_GGUF` (the file), `SETTLE_GGUF_CONTEXT` (tokens), `SETTLE_GGUF_THREADS`. */
export const config = Config.all({
  path: Config.String("SETTLE_GGUF"),
  contextWindow: Config.option(Config.Int("SETTLE_GGUF_CONTEXT")),
  threads: Config.option(Config.Int("SETTLE_GGUF_THREADS"))
})

/** A chain of the one backend that the environment describes. */
export const layerConfig: Layer.Layer<Port.Backends, Refusal.Refusal | Config.ConfigError> = Layer.effect(
  Port.Backends,
  Effect.gen(function* () {
    const { contextWindow, path, threads } = yield* config
    const backend = yield* make({
      path,
      contextWindow: Option.getOrUndefined(contextWindow),
      threads: Option.getOrUndefined(threads)
    })
    return { chain: [backend] }
  })
)

/** The exact counter of a backend's tokens. */
export const counter = (self: Gguf): Effect.Effect<TokenCounter, LoadError> =>
  Effect.map(self.load, (model) => Counter.make(self.model, model))

interface Parts {
  readonly name: string
  readonly options: Options
  readonly lane: Semaphore.Semaphore
  readonly load: Effect.Effect<Model.Model, LoadError>
}

const stream = (
  { lane, load, name, options }: Parts,
  request: Port.Request
): Stream.Stream<Port.Chunk, Port.BackendError> =>
  Stream.unwrap(
    Effect.gen(function* () {
      // before anything is waited for: the array may grow while the file is read
      const messages = Generation.messagesOf(request)
      const model = yield* Effect.mapError(load, unloaded)
      const asked = yield* Effect.fromResult(Generation.plan(model, { request, messages, options }))
      const running = new Generation.Generation(model, asked)
      yield* Effect.acquireRelease(lane.take(1), () => running.stop(lane.release(1)), { interruptible: true })
      const chunks = yield* running.start
      const finish = Effect.gen(function* () {
        const ids = yield* IdGenerator
        const outcome = yield* running.outcome
        const drawn: Array<string> = []
        for (const _ of outcome.calls) drawn.push(`call_${yield* ids.next}`)
        return Port.Chunk.Finished({ reply: Generation.reply(outcome, { asked, drawn, name }) })
      })
      return Stream.concat(chunks, Stream.fromEffect(finish))
    })
  )

const unloaded = (error: LoadError): Port.BackendError =>
  new Port.BackendError({ reason: new Port.BadResponse({ problem: "malformed", detail: error.message }) })
