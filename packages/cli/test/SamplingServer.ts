/** An MCP server whose one tool asks the client's model. */
import { Server } from "@modelcontextprotocol/sdk/server/index.js"
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js"
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js"

const server = new Server({ name: "sampling", version: "1.0.0" }, { capabilities: { tools: {} } })

server.setRequestHandler(ListToolsRequestSchema, () => ({
  tools: [{ name: "think", description: "Asks a model.", inputSchema: { type: "object" } }]
}))

server.setRequestHandler(CallToolRequestSchema, async () => {
  if (server.getClientCapabilities()?.sampling === undefined) {
    return { content: [{ type: "text", text: "there is no model to ask" }] }
  }
  const answer = await server.createMessage({
    messages: [{ role: "user", content: { type: "text", text: "Think." } }],
    maxTokens: 50
  })
  return { content: [{ type: "text", text: `thought: ${JSON.stringify(answer.content)}` }] }
})

await server.connect(new StdioServerTransport())
