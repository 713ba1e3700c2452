/**
 * A chat-completions server on the loopback that answers what it is told: recorded bodies or scripted ones, cut into any pieces,
 * paced, broken off, and a record of every request it saw.
 *
 * V1. Each piece is one chunk of the transfer coding, so a client sees exactly the pieces that were asked for.
 * V2. Delays are Effect's: a test clock drives them.
 * V3. It lives in its scope and takes its connections with it.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"
import * as Http from "node:http"

/** How a body is cut into pieces. */
export type Pieces =
  | { readonly _tag: "Whole" }
  /** Pieces of this many bytes; 1 splits every code point and every CRLF. */
  | { readonly _tag: "Every"; readonly bytes: number }
  /** Cut at these offsets. */
  | { readonly _tag: "At"; readonly offsets: ReadonlyArray<number> }

/** How an answer ends before its body does, or after it. */
export type Ending =
  /** As HTTP wants it. */
  | { readonly _tag: "Clean" }
  /** The socket is destroyed after the last byte: no end of the transfer coding. */
  | { readonly _tag: "Destroyed" }
  /** Nothing more comes, and the connection stays open. */
  | { readonly _tag: "Hanging" }

export interface Answer {
  /** Default 200. */
  readonly status?: number
  /** Default `content-type: text/event-stream`. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
  readonly pieces?: Pieces
  /** Bytes to send before the ending. Default: all. */
  readonly cutAfter?: number
  readonly ending?: Ending
  /** Milliseconds before the headers, and between pieces. */
  readonly delay?: { readonly headers?: number; readonly pieces?: number }
}

/** A request as it arrived. */
export interface Seen {
  readonly method: string
  readonly path: string
  readonly headers: Http.IncomingHttpHeaders
  readonly body: string
  /** Completes when the exchange is over: did the client take all of it, or leave? */
  readonly over: Effect.Effect<"finished" | "aborted">
  /** Bytes of the body that the connection accepted so far. */
  readonly sent: () => number
}

export interface ReplayServer {
  /** For a backend: ends in `/v1`. */
  readonly baseUrl: string
  readonly port: number
  /** In order of arrival; grows. */
  readonly requests: ReadonlyArray<Seen>
  /** How many connections were made so far. */
  readonly connections: () => number
  /** Completes when this many requests have arrived. */
  readonly arrived: (count: number) => Effect.Effect<void>
}

/** The answer to the n-th request, counted from 0. */
export type Script = (request: Seen, index: number) => Answer

/** Answers in turn; the last one answers everything after it. */
export const inTurn =
  (...answers: readonly [Answer, ...Array<Answer>]): Script =>
  (_request, index) =>
    answers[Math.min(index, answers.length - 1)] ?? answers[0]

const offsetsOf = (pieces: Pieces, size: number): ReadonlyArray<number> => {
  switch (pieces._tag) {
    case "Whole":
      return []
    case "Every":
      return Array.from({ length: Math.ceil(size / pieces.bytes) - 1 }, (_, n) => (n + 1) * pieces.bytes)
    case "At":
      return pieces.offsets.filter((offset) => offset > 0 && offset < size).toSorted((a, b) => a - b)
  }
}

/** The body in its pieces; empty ones are left out. */
export const cut = (body: Uint8Array, pieces: Pieces): ReadonlyArray<Uint8Array> => {
  const ends = [...offsetsOf(pieces, body.length), body.length]
  return ends.map((end, n) => body.subarray(ends[n - 1] ?? 0, end)).filter((piece) => piece.length > 0)
}

const bytesOf = (body: string | Uint8Array): Uint8Array => (typeof body === "string" ? Buffer.from(body) : body)

/** Waits until the connection took the piece: a slow reader holds the server back. */
const write = (response: Http.ServerResponse, piece: Uint8Array): Effect.Effect<void> =>
  Effect.callback((resume) => {
    if (response.destroyed) return resume(Effect.void)
    const quit = () => response.off("close", done).off("drain", done)
    const done = () => {
      quit()
      resume(Effect.void)
    }
    response.once("close", done)
    if (response.write(piece)) setImmediate(done)
    else response.once("drain", done)
    return Effect.sync(quit)
  })

const play = Effect.fnUntraced(function* (response: Http.ServerResponse, answer: Answer, count: (n: number) => void) {
  const body = bytesOf(answer.body)
  const sent = body.subarray(0, answer.cutAfter ?? body.length)
  if (answer.delay?.headers !== undefined) yield* Effect.sleep(answer.delay.headers)
  response.writeHead(answer.status ?? 200, { "content-type": "text/event-stream", ...answer.headers })
  response.flushHeaders()
  for (const piece of cut(sent, answer.pieces ?? { _tag: "Whole" })) {
    if (response.destroyed) return
    yield* write(response, piece)
    count(piece.length)
    if (answer.delay?.pieces !== undefined) yield* Effect.sleep(answer.delay.pieces)
  }
  const ending = answer.ending ?? { _tag: "Clean" }
  if (ending._tag === "Clean") response.end()
  if (ending._tag === "Destroyed") response.socket?.destroy()
})

const readAll = (request: Http.IncomingMessage): Effect.Effect<string> =>
  Effect.callback((resume) => {
    const parts: Array<Buffer> = []
    request.on("data", (part: Buffer) => parts.push(part))
    request.on("end", () => resume(Effect.succeed(Buffer.concat(parts).toString("utf8"))))
    request.on("error", () => resume(Effect.succeed(Buffer.concat(parts).toString("utf8"))))
  })

interface Waiter {
  readonly count: number
  readonly done: Deferred.Deferred<void>
}

export const make = (script: Script): Effect.Effect<ReplayServer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const requests: Array<Seen> = []
    const waiters: Array<Waiter> = []
    let connections = 0
    const run = yield* FiberSet.makeRuntime<never>()

    const handle = Effect.fnUntraced(function* (request: Http.IncomingMessage, response: Http.ServerResponse) {
      const over = Deferred.makeUnsafe<"finished" | "aborted">()
      let sent = 0
      response.on("close", () =>
        Deferred.doneUnsafe(over, Exit.succeed(response.writableFinished ? "finished" : "aborted"))
      )
      const body = yield* readAll(request)
      const seen: Seen = {
        method: request.method ?? "",
        path: request.url ?? "",
        headers: request.headers,
        body,
        over: Deferred.await(over),
        sent: () => sent
      }
      requests.push(seen)
      for (const waiter of waiters) {
        if (requests.length >= waiter.count) Deferred.doneUnsafe(waiter.done, Exit.void)
      }
      yield* play(response, script(seen, requests.length - 1), (bytes) => (sent += bytes))
    })

    const server = yield* Effect.acquireRelease(
      Effect.callback<Http.Server>((resume) => {
        const made = Http.createServer((request, response) => {
          request.socket.setNoDelay(true)
          run(handle(request, response))
        })
        made.on("connection", () => (connections += 1))
        made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
      }),
      (made) =>
        Effect.callback<void>((resume) => {
          made.close(() => resume(Effect.void))
          made.closeAllConnections()
        })
    )
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    return {
      baseUrl: `http://127.0.0.1:${port}/v1`,
      port,
      requests,
      connections: () => connections,
      arrived: (count) =>
        Effect.suspend(() => {
          if (requests.length >= count) return Effect.void
          const waiter: Waiter = { count, done: Deferred.makeUnsafe() }
          waiters.push(waiter)
          return Deferred.await(waiter.done)
        })
    }
  })

/** A reply to be written as a stream of events. */
export interface Reply {
  readonly model?: string
  readonly reasoning?: ReadonlyArray<string>
  readonly text?: ReadonlyArray<string>
  readonly calls?: ReadonlyArray<{
    readonly id: string
    readonly name: string
    readonly arguments: ReadonlyArray<string>
  }>
  /** Default: `tool_calls` when there are calls, else `stop`; `null` leaves it out. */
  readonly finish?: string | null
  readonly usage?: Readonly<Record<string, unknown>>
  /** Whether `[DONE]` comes. Default true. */
  readonly done?: boolean
}

/** The body of a streamed reply, as an OpenAI-compatible server writes it. */
export const events = (reply: Reply): string => {
  const head = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: reply.model ?? "scripted" }
  const event = (delta: unknown, finish: string | null = null) => ({
    ...head,
    choices: [{ index: 0, delta, finish_reason: finish }]
  })
  const calls = reply.calls ?? []
  const finish = reply.finish === undefined ? (calls.length > 0 ? "tool_calls" : "stop") : reply.finish
  const all = [
    event({ role: "assistant", content: "" }),
    ...(reply.reasoning ?? []).map((text) => event({ reasoning_content: text })),
    ...(reply.text ?? []).map((text) => event({ content: text })),
    ...calls.flatMap((call, index) => [
      event({ tool_calls: [{ index, id: call.id, type: "function", function: { name: call.name, arguments: "" } }] }),
      ...call.arguments.map((text) => event({ tool_calls: [{ index, function: { arguments: text } }] }))
    ]),
    ...(finish === null ? [] : [event({}, finish)]),
    ...(reply.usage === undefined ? [] : [{ ...head, choices: [], usage: reply.usage }])
  ]
  const lines = all.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("")
  return (reply.done ?? true) ? `${lines}data: [DONE]\n\n` : lines
}
