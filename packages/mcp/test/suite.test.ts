/** What every source of tools must do, over a real pipe and a real connection. */
import * as ToolProviderSuite from "@settle/testing/suites/ToolProviderSuite"
import { Effect } from "effect"
import * as Client from "../src/Client.ts"
import * as McpProvider from "../src/McpProvider.ts"
import * as McpServers from "../src/McpServers.ts"
import { spec } from "./hostile.ts"

const echo = {
  name: "echo",
  arguments: (text: string) => JSON.stringify({ text }),
  answer: (text: string) => text
}

ToolProviderSuite.suite(
  "M2 a server over stdio",
  Effect.map(Client.connect("hostile", spec()), (client) => ({
    provider: McpProvider.make({ server: "hostile", client: Effect.succeed(client) }),
    echo,
    failing: { name: "rpcerror", arguments: "{}" }
  }))
)

ToolProviderSuite.suite(
  "M2 all servers of a configuration",
  Effect.map(McpServers.make({ h: spec() }), ({ provider }) => ({
    provider,
    echo: { ...echo, name: "h_echo" },
    failing: { name: "h_echo", arguments: "[]" }
  }))
)
