/**
 * Lets a model that makes one call a reply make several: each line of the request is put to it alone, and the calls it answers with
 * become one turn. What the model says is its own; only the asking is divided.
 *
 * P1. Whatever is not a fresh request of several lines goes to the model as it is.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Message from "@settle/core/model/Message"
import { total, type Usage } from "@settle/core/model/Usage"
import { type Backend, BackendError, BadResponse, Chunk, type Reply, type Request } from "@settle/core/port/Backend"

export const make = (backend: Backend): Backend => ({
  ...backend,
  stream: (request) => {
    const asked = lines(request)
    return asked.length < 2 ? backend.stream(request) : Stream.fromEffect(together(backend, request, asked))
  }
})

const lines = ({ conversation, schema }: Request): ReadonlyArray<string> => {
  const last = conversation.messages.at(-1)
  if (schema !== undefined || last?.role !== "user") return []
  return last.content.split("\n").filter((line) => line.trim() !== "")
}

const together = Effect.fnUntraced(function* (backend: Backend, request: Request, asked: ReadonlyArray<string>) {
  const replies = yield* Effect.forEach(asked, (line) => reply(backend, alone(request, line)))
  const toolCalls = replies.flatMap((each) => each.toolCalls)
  const [first] = replies
  return Chunk.Finished({
    reply: {
      text: replies.flatMap((each) => (each.text === "" ? [] : [each.text])).join("\n"),
      toolCalls,
      partialCalls: replies.flatMap((each) => each.partialCalls),
      finish: toolCalls.length > 0 ? "tool-calls" : "stop",
      usage: replies.map((each) => each.usage ?? {}).reduce(sum, {}),
      warnings: replies.flatMap((each) => each.warnings),
      ...(first?.modelUsed === undefined ? {} : { modelUsed: first.modelUsed })
    }
  })
})

const alone = (request: Request, line: string): Request => {
  const { messages, revision } = request.conversation
  return { ...request, conversation: { messages: [...messages.slice(0, -1), Message.user(line)], revision } }
}

const reply = (backend: Backend, request: Request): Effect.Effect<Reply, BackendError> =>
  Stream.runFold(
    backend.stream(request),
    (): Reply | undefined => undefined,
    (found, chunk) => (chunk._tag === "Finished" ? chunk.reply : found)
  ).pipe(
    Effect.flatMap((found) =>
      found === undefined
        ? Effect.fail(new BackendError({ reason: new BadResponse({ problem: "cut", detail: "the reply had no end" }) }))
        : Effect.succeed(found)
    )
  )

const sum = (a: Usage, b: Usage): Usage => {
  const add = (key: "promptTokens" | "completionTokens" | "cost") => (a[key] ?? 0) + (b[key] ?? 0)
  return {
    promptTokens: add("promptTokens"),
    completionTokens: add("completionTokens"),
    totalTokens: (total(a) ?? 0) + (total(b) ?? 0),
    cost: add("cost")
  }
}
