/**
 * The wire protocols a model of the configuration may speak: one line of the table each. The schema of every entry is published;
 * its code is loaded when a model of it is used.
 */
import * as Schema from "effect/Schema"
import * as About from "@settle/backends/embedded/About"

const optional = Schema.optionalKey
const Positive = Schema.Int.check(Schema.isGreaterThan(0))

/** What every model may say about its sizes; a window enables preflight, compaction and length verdicts. */
const sizes = {
  maxTokens: optional(Positive.annotate({ description: "Completion cap sent with every request." })),
  contextWindow: optional(
    Positive.annotate({ description: "Tokens the model can hold: request and answer together." })
  ),
  completionReserve: optional(
    Positive.annotate({ description: "Tokens kept free for the answer. Default: maxTokens, else 1024." })
  )
}

const remote = {
  model: Schema.NonEmptyString.annotate({ description: "The model's name as the server knows it." }),
  apiKeyEnv: optional(
    Schema.NonEmptyString.annotate({
      description: "Environment variable that holds the API key. Keys never stand in this file."
    })
  ),
  params: optional(
    Schema.Record(Schema.String, Schema.Json).annotate({
      description: "Further members of the request: temperature, stop, seed."
    })
  ),
  ...sizes
}

export const OpenAiChat = Schema.Struct({
  protocol: Schema.Literal("openai-chat"),
  baseUrl: optional(
    Schema.NonEmptyString.annotate({
      description: "Up to and without /chat/completions. Default https://api.openai.com/v1."
    })
  ),
  ...remote,
  includeUsage: optional(
    Schema.Boolean.annotate({
      description: "Ask for usage on a stream. Off by default for a server that is not known to take it."
    })
  )
}).annotate({ description: "Any server with an OpenAI-compatible chat completions endpoint." })

export const Anthropic = Schema.Struct({
  protocol: Schema.Literal("anthropic"),
  baseUrl: optional(
    Schema.NonEmptyString.annotate({
      description: "Up to and without /v1/messages. Default https://api.anthropic.com."
    })
  ),
  ...remote,
  promptCache: optional(
    Schema.Boolean.annotate({ description: "Mark what is stable for the prompt cache. Default true." })
  )
}).annotate({ description: "The messages API of Anthropic, and servers that speak it." })

export const OpenAiResponses = Schema.Struct({
  protocol: Schema.Literal("openai-responses"),
  baseUrl: optional(
    Schema.NonEmptyString.annotate({ description: "Up to and without /responses. Default https://api.openai.com/v1." })
  ),
  ...remote,
  encryptedReasoning: optional(
    Schema.Boolean.annotate({
      description: "Ask for the reasoning, encrypted, to send it back. Default: unless the model is known to refuse."
    })
  )
}).annotate({ description: "The responses API of OpenAI, without storage there." })

export const Gemini = Schema.Struct({
  protocol: Schema.Literal("gemini"),
  baseUrl: optional(
    Schema.NonEmptyString.annotate({
      description: "Up to and without /models. Default https://generativelanguage.googleapis.com/v1beta."
    })
  ),
  ...remote
}).annotate({ description: "The API of Google's Gemini models." })

export const KoboldCpp = Schema.Struct({
  protocol: Schema.Literal("koboldcpp"),
  baseUrl: optional(
    Schema.NonEmptyString.annotate({
      description: "Up to and without /chat/completions. Default http://127.0.0.1:5001/v1."
    })
  ),
  ...remote,
  model: optional(Schema.NonEmptyString.annotate({ description: "It runs one model and answers to any name." }))
}).annotate({ description: "A KoboldCpp server; a cancel ends its generation." })

export const Embedded = Schema.Struct({
  protocol: Schema.Literal("embedded"),
  model: optional(Schema.NonEmptyString.annotate({ description: "What it is called in the transcript." })),
  perLine: optional(
    Schema.Boolean.annotate({
      description:
        "Put each line of a request to the model alone and make one turn of the calls it answers with. It knows one at a time."
    })
  ),
  ...sizes
}).annotate({ description: "The small demonstration model inside Settle: no key, no network, and little wit." })

/** The table. A protocol that is not here does not exist for the configuration. */
export const protocols = [OpenAiChat, OpenAiResponses, Anthropic, Gemini, KoboldCpp, Embedded] as const

export const Model = Schema.Union(protocols)
export type Model = typeof Model.Type

export const names: ReadonlyArray<Model["protocol"]> = protocols.map((protocol) => protocol.fields.protocol.literal)

/** Whether entries of this model's protocol have a key, given or not. */
export const takes = (model: Model, key: string): boolean =>
  protocols.some(
    (protocol) => protocol.fields.protocol.literal === model.protocol && Object.hasOwn(protocol.fields, key)
  )

/** The model's name on the wire and in the budget. */
export const modelName = (model: Model): string =>
  model.model ?? (model.protocol === "koboldcpp" ? "koboldcpp" : About.name)

/** Default server of both OpenAI protocols. */
export const openAi = "https://api.openai.com/v1"

/** Where a model of this entry is called; `undefined` for one in the box. */
export const serverOf = (model: Model): string | undefined => {
  switch (model.protocol) {
    case "openai-chat":
    case "openai-responses":
      return model.baseUrl ?? openAi
    case "anthropic":
      return model.baseUrl ?? "https://api.anthropic.com"
    case "gemini":
      return model.baseUrl ?? "https://generativelanguage.googleapis.com/v1beta"
    case "koboldcpp":
      return model.baseUrl ?? "http://127.0.0.1:5001/v1"
    case "embedded":
      return undefined
  }
}
