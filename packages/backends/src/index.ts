/** Models over HTTP. Each protocol is one namespace; `Chain` puts several backends in a row. */
export * as Chain from "./Chain.ts"
export * as Http from "./Http.ts"
export * as OpenAiChat from "./openai-chat/Backend.ts"
