/** MCP servers as providers of tools. */
export * as Client from "./Client.ts"
export * as McpError from "./McpError.ts"
export * as McpProvider from "./McpProvider.ts"
export * as McpServers from "./McpServers.ts"
export * as Sampler from "./Sampler.ts"
export * as ServerSpec from "./ServerSpec.ts"
export * as TokenStore from "./TokenStore.ts"
