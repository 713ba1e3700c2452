/**
 * The wire protocols a model of the configuration may speak: one line of the table each. The schema of every entry is published;
 * its code is loaded when a model of it is used.
 */
import * as Schema from "effect/Schema"
import * as About from "@settle/backends/embedded/About"
import * as Windows from "@settle/backends/Windows"

const optional = Schema.optionalKey
const Positive = Schema.Int.check(Schema.isGreaterThan(0))

/** What every model may say about its sizes; a window enables preflight and length verdicts, and is what compaction works by. */
const sizes = {
  maxTokens: optional(Positive.annotate({ description: "Completion cap sent with every request." })),
  contextWindow: optional(
    Positive.annotate({
      description:
        "Tokens the model can hold: request and answer together. Default: what its maker says, where that is known."
    })
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

export const Gguf = Schema.Struct({
  protocol: Schema.Literal("gguf"),
  path: Schema.NonEmptyString.annotate({ description: "The model file. Relative to the folder of the project." }),
  model: optional(
    Schema.NonEmptyString.annotate({
      description: "What it is called in the transcript. Default: the name of the file."
    })
  ),
  threads: optional(Positive.annotate({ description: "Default: one less than there are cores." })),
  gpu: optional(Schema.Boolean.annotate({ description: "Use a graphics card where there is one. Default true." })),
  template: optional(
    Schema.NonEmptyString.annotate({
      description: "Chat template, by node-llama-cpp's name for it. Default: the file's."
    })
  ),
  temperature: optional(
    Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0)).annotate({
      description: "Default 0: the likeliest token, always."
    })
  ),
  seed: optional(
    Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)).annotate({
      description: "Of the draws, where the temperature is above 0."
    })
  ),
  ...sizes
}).annotate({
  description:
    "A model file (GGUF) run on this machine by llama.cpp. Needs node-llama-cpp, which comes with no other model."
})

/** The table. A protocol that is not here does not exist for the configuration. */
export const protocols = [OpenAiChat, OpenAiResponses, Anthropic, Gemini, KoboldCpp, Embedded, Gguf] as const

export const Model = Schema.Union(protocols)
export type Model = typeof Model.Type

export const names: ReadonlyArray<Model["protocol"]> = protocols.map((protocol) => protocol.fields.protocol.literal)

/** Whether entries of this model's protocol have a key, given or not. */
export const takes = (model: Model, key: string): boolean =>
  protocols.some(
    (protocol) => protocol.fields.protocol.literal === model.protocol && Object.hasOwn(protocol.fields, key)
  )

/** The model's name on the wire and in the budget. */
export const modelName = (model: Model): string => {
  if (model.model !== undefined) return model.model
  switch (model.protocol) {
    case "koboldcpp":
      return "koboldcpp"
    case "gguf":
      return model.path.replace(/^.*[/\\]/, "").replace(/\.gguf$/i, "")
    default:
      return About.name
  }
}

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
    case "gguf":
      return undefined
  }
}

/** Whether a server can be in a public list: an address of this machine or network is in none. */
export const isPublic = (server: string | undefined): server is string => {
  const host = server === undefined ? undefined : URL.parse(server)?.hostname
  return host !== undefined && /\.[a-z]+$/i.test(host)
}

/**
 * Tokens the model can hold, for the budget: what is configured, else what its maker says. A server of one's own may give a model
 * less, so nothing is presumed of one.
 */
export const windowOf = (model: Model): number | undefined =>
  model.contextWindow ?? (isPublic(serverOf(model)) ? Windows.of(modelName(model))?.contextWindow : undefined)
