/** Models over HTTP and in the box. Each protocol is one namespace; `Chain` puts several backends in a row. */
export * as Anthropic from "./anthropic/Backend.ts"
export * as Chain from "./Chain.ts"
export * as Embedded from "./embedded/Backend.ts"
export * as Http from "./Http.ts"
export * as OpenAiChat from "./openai-chat/Backend.ts"
