/** What can be said of a model before it is asked anything: for lists of models and for budgets. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as About from "./embedded/About.ts"
import * as Prices from "./Prices.ts"
import * as Windows from "./Windows.ts"

export interface Description {
  /** Tokens. */
  readonly contextWindow?: number
  /** Tokens. */
  readonly maxOutput?: number
  /** US dollars for a million tokens at the lowest tier; absent when no list says it. Nothing is paid for a model that runs here. */
  readonly price?: Prices.Rates
}

/** Models of these are run by nobody else: their windows are the file's or the server's, their names say nothing. */
const local = new Set(["embedded", "gguf", "koboldcpp"])

/** Whose price it is when only the protocol is known: the one its address defaults to. */
const sources: ReadonlyMap<string, Prices.Source> = new Map([
  ["anthropic", { providerId: "anthropic" }],
  ["gemini", { providerId: "google" }],
  ["openai-chat", { providerId: "openai" }],
  ["openai-responses", { providerId: "openai" }]
])

/** `source`: where the model is called, when that is not where its protocol comes from. Loads the list of prices (2 MB) once. */
export const describe = (model: string, protocol: string, source?: Prices.Source): Effect.Effect<Description> =>
  Effect.gen(function* () {
    if (local.has(protocol)) {
      const price = protocol === "koboldcpp" ? {} : { price: { input: 0, output: 0 } }
      return protocol === "embedded" ? { contextWindow: About.contextWindow, ...price } : price
    }
    const prices = yield* Prices.load
    const at = yield* Clock.currentTimeMillis
    const whose = source ?? sources.get(protocol)
    const query = { ...whose, model, at }
    const price = whose === undefined ? undefined : prices.rates(query)
    const window = Windows.of(model)
    const contextWindow = window?.contextWindow ?? (whose === undefined ? undefined : prices.contextWindow(query))
    return {
      ...(contextWindow === undefined ? {} : { contextWindow }),
      ...(window?.maxOutput === undefined ? {} : { maxOutput: window.maxOutput }),
      ...(price === undefined ? {} : { price })
    }
  })
