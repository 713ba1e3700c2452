/** A model over HTTP: any server of the chat-completions protocol. Here one that answers from this file; `baseUrl` is all there is to it. */
import { OpenAiChat } from "@settle/backends"
import { Agent } from "@settle/core"
import { Effect, Layer } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

const event = (choice: object) => `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`

const server = createServer((_request, response) => {
  response.writeHead(200, { "content-type": "text/event-stream" })
  response.write(event({ delta: { role: "assistant", content: "Streamed " } }))
  response.write(event({ delta: { content: "over HTTP." } }))
  response.end(event({ delta: {}, finish_reason: "stop" }) + "data: [DONE]\n\n")
})
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
const { port } = server.address() as AddressInfo

const program = Effect.gen(function* () {
  const run = yield* (yield* Agent.Agent).run("Hello?")
  console.log((yield* run.result).final)
})

// With OPENAI_BASE_URL, OPENAI_MODEL and OPENAI_API_KEY in the environment: OpenAiChat.layerConfig
const model = OpenAiChat.layer({ baseUrl: `http://127.0.0.1:${port}/v1`, model: "any" })
await Effect.runPromise(program.pipe(Effect.provide(Agent.layer().pipe(Layer.provide(model)))))
server.close()
server.closeAllConnections()
// => Streamed over HTTP.
