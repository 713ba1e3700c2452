/**
 * A chat-completions server that plays what the request's model name says, so that every contestant does the same work:
 * `r200-t20-a256` is 200 rounds of one `echo` call with 256 bytes of argument (another one each round), then an answer of 20 pieces of text. `-s` writes
 * each event by itself instead of 64 KiB at a time. The round is the number of tool messages in the request; nothing is kept.
 *
 * GET /stats answers and resets what the server itself cost.
 */
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

interface Plan {
  readonly rounds: number
  readonly texts: number
  readonly argument: number
  readonly split: boolean
  readonly answers: Map<number, ReadonlyArray<Buffer>>
}

const piece = "token "
const argumentDelta = 16
const packed = 65_536

const planOf = (model: string): Plan => {
  const number = (letter: string) => Number(new RegExp(`(?:^|-)${letter}(\\d+)`).exec(model)?.[1] ?? 0)
  return {
    rounds: number("r"),
    texts: number("t"),
    argument: number("a"),
    split: model.endsWith("-s"),
    answers: new Map()
  }
}

const event = (id: string, rest: string): string =>
  `data: {"id":"answer-${id}","object":"chat.completion.chunk","created":1700000000,"model":"bench",${rest}}\n\n`

const delta = (id: string, value: object, finish: string | null = null): string =>
  event(id, `"choices":[${JSON.stringify({ index: 0, delta: value, finish_reason: finish })}]`)

const usage = (id: string, completion: number): string =>
  event(
    id,
    `"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":${completion},"total_tokens":${10 + completion}}`
  )

const textEvents = (plan: Plan): Array<string> => {
  const one = delta("text", { content: piece })
  return [
    delta("text", { role: "assistant", content: "" }),
    ...Array.from({ length: plan.texts }, () => one),
    delta("text", {}, "stop"),
    usage("text", plan.texts),
    "data: [DONE]\n\n"
  ]
}

const callEvents = (plan: Plan, round: number): Array<string> => {
  const id = String(round)
  const text = JSON.stringify({ text: `${round} `.padEnd(plan.argument, "x") })
  const open = { index: 0, id: `call_${round}`, type: "function", function: { name: "echo", arguments: "" } }
  const events = [delta(id, { role: "assistant", content: null }), delta(id, { tool_calls: [open] })]
  for (let at = 0; at < text.length; at += argumentDelta) {
    events.push(delta(id, { tool_calls: [{ index: 0, function: { arguments: text.slice(at, at + argumentDelta) } }] }))
  }
  events.push(delta(id, {}, "tool_calls"), usage(id, text.length >> 2), "data: [DONE]\n\n")
  return events
}

const pack = (events: ReadonlyArray<string>): ReadonlyArray<Buffer> => {
  const writes: Array<Buffer> = []
  let open = ""
  for (const one of events) {
    open += one
    if (open.length < packed) continue
    writes.push(Buffer.from(open))
    open = ""
  }
  if (open !== "") writes.push(Buffer.from(open))
  return writes
}

const answer = (plan: Plan, round: number): ReadonlyArray<Buffer> => {
  const key = round < plan.rounds ? round : -1
  const known = plan.answers.get(key)
  if (known !== undefined) return known
  const events = key < 0 ? textEvents(plan) : callEvents(plan, round)
  const made = plan.split ? events.map((one) => Buffer.from(one)) : pack(events)
  plan.answers.set(key, made)
  return made
}

const send = (response: ServerResponse, writes: ReadonlyArray<Buffer>, split: boolean): void => {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" })
  let next = 0
  const step = (): void => {
    while (!response.destroyed) {
      const bytes = writes[next++]
      if (bytes === undefined) {
        response.end()
        return
      }
      const more = response.write(bytes)
      if (!more) {
        response.once("drain", step)
        return
      }
      if (split) {
        setImmediate(step)
        return
      }
    }
  }
  step()
}

const occurrences = (body: Buffer, pattern: Buffer): number => {
  let count = 0
  for (let at = body.indexOf(pattern); at >= 0; at = body.indexOf(pattern, at + pattern.length)) count++
  return count
}

const plans = new Map<string, Plan>()
const modelKey = Buffer.from(`"model":"`)
const toolRole = Buffer.from(`"role":"tool"`)
let stats = { requests: 0, bytesIn: 0, from: process.cpuUsage() }

const report = (): string => {
  const cpu = process.cpuUsage(stats.from)
  const text = JSON.stringify({
    requests: stats.requests,
    bytesIn: stats.bytesIn,
    cpuMs: (cpu.user + cpu.system) / 1000
  })
  stats = { requests: 0, bytesIn: 0, from: process.cpuUsage() }
  return text
}

const respond = (body: Buffer, response: ServerResponse): void => {
  stats.requests++
  stats.bytesIn += body.length
  const from = body.indexOf(modelKey) + modelKey.length
  if (from < modelKey.length) {
    response.writeHead(400).end(`{"error":{"message":"no model"}}`)
    return
  }
  const model = body.toString("latin1", from, body.indexOf(34, from))
  const plan = plans.get(model) ?? planOf(model)
  plans.set(model, plan)
  send(response, answer(plan, plan.rounds > 0 ? occurrences(body, toolRole) : 0), plan.split)
}

const server = createServer((request, response) => {
  if (request.method === "GET") {
    response.setHeader("content-type", "application/json")
    response.end(report())
    return
  }
  const read: Array<Buffer> = []
  request.on("data", (bytes: Buffer) => read.push(bytes))
  request.on("end", () => respond(Buffer.concat(read), response))
})
server.keepAliveTimeout = 120_000
server.requestTimeout = 0
server.headersTimeout = 0
server.on("clientError", (_error, socket) => socket.destroy())
server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`)
})
process.on("disconnect", () => process.exit(0))
process.on("SIGTERM", () => process.exit(0))
// A forgotten server ends by itself.
setTimeout(() => process.exit(0), 3_600_000).unref()
