/**
 * Models over HTTP and in the box. Each protocol is one namespace; `Chain` puts several backends in a row. Nothing heavy is loaded
 * before it is used; the bridge to `effect/ai` is, and has a path of its own: `@settle/backends/LanguageModel`.
 */
export * as Anthropic from "./anthropic/Backend.ts"
export * as Chain from "./Chain.ts"
export * as Described from "./Described.ts"
export * as Embedded from "./embedded/Backend.ts"
export * as Gemini from "./gemini/Backend.ts"
export * as Gguf from "./gguf/Backend.ts"
export * as GptCounter from "./GptCounter.ts"
export * as Http from "./Http.ts"
export * as KoboldCpp from "./KoboldCpp.ts"
export * as OpenAiChat from "./openai-chat/Backend.ts"
export * as OpenAiResponses from "./openai-responses/Backend.ts"
export * as Prices from "./Prices.ts"
export * as Windows from "./Windows.ts"
