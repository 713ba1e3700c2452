/** MCP servers as providers of tools. */
export * as Client from "./Client.ts"
export * as McpError from "./McpError.ts"
export * as McpProvider from "./McpProvider.ts"
export * as McpServers from "./McpServers.ts"
export * as ServerSpec from "./ServerSpec.ts"
