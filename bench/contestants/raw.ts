/** The floor: fetch, a decoder, JSON.parse of every event, JSON.stringify of the whole conversation for every request. */
import { Agent, fetch } from "undici"
import type { Load } from "../measure.ts"

interface Call {
  id: string
  readonly type: "function"
  readonly function: { name: string; arguments: string }
}
interface Delta {
  readonly content?: string | null
  readonly tool_calls?: ReadonlyArray<{
    readonly index: number
    readonly id?: string
    readonly function?: { readonly name?: string; readonly arguments?: string }
  }>
}
interface Event {
  readonly choices: ReadonlyArray<{ readonly delta?: Delta }>
}

const tools = [
  {
    type: "function",
    function: {
      name: "echo",
      description: "Echo the text back",
      parameters: {
        type: "object",
        properties: { text: { type: "string" } },
        required: ["text"],
        additionalProperties: false
      }
    }
  }
]

export const load: Load = async (baseUrl) => {
  const dispatcher = new Agent({ keepAliveTimeout: 60_000 })

  const ask = async (model: string, messages: ReadonlyArray<object>, onText: (text: string) => void) => {
    const response = await fetch(`${baseUrl}/chat/completions`, {
      method: "POST",
      dispatcher,
      headers: { "content-type": "application/json", authorization: "Bearer bench" },
      body: JSON.stringify({ model, messages, tools, stream: true, stream_options: { include_usage: true } })
    })
    if (!response.ok || response.body === null) throw new Error(`HTTP ${response.status}`)
    const decoder = new TextDecoder()
    const calls: Array<Call> = []
    let rest = ""
    let content = ""

    const accept = (delta: Delta): void => {
      if (typeof delta.content === "string" && delta.content !== "") {
        content += delta.content
        onText(delta.content)
      }
      for (const part of delta.tool_calls ?? []) {
        const call = (calls[part.index] ??= { id: "", type: "function", function: { name: "", arguments: "" } })
        call.id ||= part.id ?? ""
        call.function.name ||= part.function?.name ?? ""
        call.function.arguments += part.function?.arguments ?? ""
      }
    }

    for await (const bytes of response.body) {
      rest += decoder.decode(bytes as Uint8Array, { stream: true })
      let from = 0
      for (let end = rest.indexOf("\n", from); end >= 0; end = rest.indexOf("\n", from)) {
        const line = rest.slice(from, end)
        from = end + 1
        if (!line.startsWith("data: ") || line === "data: [DONE]") continue
        const delta = (JSON.parse(line.slice(6)) as Event).choices[0]?.delta
        if (delta !== undefined) accept(delta)
      }
      rest = rest.slice(from)
    }
    return { content, calls }
  }

  return {
    run: async ({ echo, model, onText, prompt }) => {
      const messages: Array<object> = [{ role: "user", content: prompt }]
      for (;;) {
        const { calls, content } = await ask(model, messages, onText)
        if (calls.length === 0) return content
        messages.push({ role: "assistant", content: content === "" ? null : content, tool_calls: calls })
        for (const call of calls) {
          messages.push({ role: "tool", tool_call_id: call.id, content: echo(JSON.parse(call.function.arguments)) })
        }
      }
    },
    close: () => dispatcher.close()
  }
}
