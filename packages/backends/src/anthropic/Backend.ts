/**
 * Anthropic's messages over HTTP as a `Backend`: sends what `Request` wrote, reads what `Assemble` understands, and adds nothing.
 */
import type * as Refusal from "@settle/core/model/Refusal"
import type * as Port from "@settle/core/port/Backend"
import type * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { BodyReader } from "../BodyReader.ts"
import * as Chain from "../Chain.ts"
import * as Environment from "../Environment.ts"
import * as Http from "../Http.ts"
import * as Streaming from "../Streaming.ts"
import { Assembly } from "./Assemble.ts"
import * as OptionsCheck from "./Options.ts"
import * as Request from "./Request.ts"

export type Options = OptionsCheck.Options

/** One backend. Refuses settings that cannot work; never connects by itself. */
export const make = (options: Options, keyName?: string): Effect.Effect<Port.Backend, Refusal.Refusal> =>
  Effect.gen(function* () {
    const checked = yield* Effect.fromResult(OptionsCheck.check(options, keyName))
    const encoder = Request.make({
      model: options.model,
      maxTokens: checked.maxTokens,
      params: options.params ?? {},
      promptCache: options.promptCache ?? true,
      vision: options.vision ?? true,
      replayThinking: options.replayThinking ?? "unchanged"
    })
    return Streaming.backend(
      { ...options, maxTokens: checked.maxTokens },
      {
        http: yield* Http.Http,
        endpoint: checked,
        prepare: encoder.prepare,
        reader: () => new BodyReader(new Assembly(checked), checked.maxEventSize)
      }
    )
  })

/** A chain of this one backend. */
export const layer = (options: Options): Layer.Layer<Port.Backends, Refusal.Refusal> => Chain.layer([make(options)])

/** `ANTHROPIC_BASE_URL` (default: Anthropic's), `ANTHROPIC_MODEL`, `ANTHROPIC_API_KEY`. */
export const config = Environment.config({ prefix: "ANTHROPIC", baseUrl: OptionsCheck.defaultBaseUrl })

/** A chain of the one backend that the environment describes. */
export const layerConfig: Layer.Layer<Port.Backends, Refusal.Refusal | Config.ConfigError> = Environment.layer(
  config,
  make,
  "ANTHROPIC_API_KEY"
)
