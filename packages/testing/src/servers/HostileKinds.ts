/** Kinds of misbehaviour that providers have been seen with, by name. Each is one answer of a `HostileProvider`. */
import { gzipSync } from "node:zlib"
import type { Act, Hostility } from "./HostileProvider.ts"
import { events, type Reply } from "./ReplayServer.ts"

type Headers = ReadonlyArray<readonly [name: string, value: string]>

const head = (status: number, headers: Headers): string =>
  [`HTTP/1.1 ${status} Scripted`, ...headers.map(([name, value]) => `${name}: ${value}`), "", ""].join("\r\n")

const bytesOf = (body: string | Uint8Array): Uint8Array => (typeof body === "string" ? Buffer.from(body) : body)

/** An answer whose length is told. */
const plain = (status: number, body: string, headers: Headers = [["content-type", "application/json"]]): Hostility => ({
  play: () => [
    head(status, [...headers, ["content-length", `${Buffer.byteLength(body)}`], ["connection", "close"]]),
    body
  ]
})

const json = (status: number, body: unknown, headers: Headers = []): Hostility =>
  plain(status, JSON.stringify(body), [["content-type", "application/json"], ...headers])

const html = (status: number, title: string): Hostility =>
  plain(status, `<!doctype html><html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>`, [
    ["content-type", "text/html"]
  ])

const limited = (headers: Headers): Hostility => json(429, { error: { message: "slow down" } }, headers)

const streaming: Headers = [
  ["content-type", "text/event-stream"],
  ["transfer-encoding", "chunked"],
  ["connection", "close"]
]

const chunk = (bytes: Uint8Array): Uint8Array =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")])

/** The body in a few seeded pieces, each a chunk of the transfer coding and a write of its own. */
const pieces = (body: string | Uint8Array, random: () => number): ReadonlyArray<Uint8Array> => {
  const bytes = bytesOf(body)
  const cuts = [...Array.from({ length: 4 }, () => Math.floor(random() * bytes.length)), bytes.length]
  return cuts
    .toSorted((a, b) => a - b)
    .map((end, n, all) => bytes.subarray(all[n - 1] ?? 0, end))
    .filter((piece) => piece.length > 0)
    .map(chunk)
}

const over = "0\r\n\r\n"

/** A stream of events; `ending` comes instead of the end of the transfer coding. */
const stream = (
  body: string | Uint8Array,
  ending: ReadonlyArray<Act> = [over],
  headers: Headers = streaming
): Hostility => ({ play: (random) => [head(200, headers), ...pieces(body, random), ...ending] })

const reply = (given: Reply): Hostility => stream(events(given))

const data = (value: unknown): string => `data: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`
const delta = (value: unknown, finish: string | null = null): string =>
  data({ model: "hostile", choices: [{ index: 0, delta: value, finish_reason: finish }] })
const done = data("[DONE]")
const begun = delta({ role: "assistant", content: "half an " })
const fragment = (index: number | undefined, more: object): string =>
  delta({ tool_calls: [{ ...(index === undefined ? {} : { index }), ...more }] })
const callOf = (index: number | undefined, id: string | undefined, args: string, name = "write"): string =>
  fragment(index, { ...(id === undefined ? {} : { id }), type: "function", function: { name, arguments: args } })
const called = delta({}, "tool_calls") + done
const overflow = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."

const statuses = {
  "400 json": json(400, { error: { message: "bad request", type: "invalid_request_error" } }),
  "400 text": plain(400, "bad request", [["content-type", "text/plain"]]),
  "401 json": json(401, { error: { message: "invalid key", code: "invalid_api_key" } }),
  "402 json": json(402, { error: { message: "no credit" } }),
  "403 html": html(403, "Forbidden"),
  "404 html": html(404, "Not Found"),
  "404 empty": plain(404, ""),
  "400 overflow by code": json(400, { error: { message: "too big", code: "context_length_exceeded" } }),
  "400 overflow by text": json(400, { error: { message: overflow } }),
  "400 overflow in a string": plain(400, JSON.stringify(overflow)),
  "400 overflow wrapped": json(400, {
    error: { message: "Provider returned error", metadata: { raw: JSON.stringify({ error: { message: overflow } }) } }
  }),
  "400 that is a string too long": json(400, {
    error: { message: "string too long. Expected a string with maximum length 10", code: "string_above_max_length" }
  }),
  "400 that is an output limit": json(400, {
    error: { message: "max_tokens exceeds the maximum allowed number of output tokens" }
  }),
  "413 json": json(413, { error: { message: "Request too large" } }),
  "429 json": limited([]),
  "429 retry at once": limited([["retry-after", "0"]]),
  "429 retry in an hour": limited([["retry-after", "3600"]]),
  "429 retry at a date that is past": limited([["retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"]]),
  "429 retry at a date far away": limited([["retry-after", "Wed, 21 Oct 2082 07:28:00 GMT"]]),
  "429 retry in milliseconds": limited([["retry-after-ms", "5"]]),
  "429 retry at nonsense": limited([["retry-after", "soon"]]),
  "429 that sounds like a window": json(429, {
    error: { message: "Request too large: tokens per min (TPM) limit 1000, context length" }
  }),
  "500 json": json(500, { error: { message: "internal" } }),
  "500 empty": plain(500, ""),
  "500 huge": plain(500, "x".repeat(300_000), [["content-type", "text/plain"]]),
  "500 cut in its body": { play: () => [head(500, [["content-length", "1000"]]), '{"error":{"mess', "RESET"] },
  "502 html": html(502, "Bad Gateway"),
  "503 retry in an hour": json(503, { error: { message: "busy" } }, [["retry-after", "3600"]]),
  "504 text": plain(504, "upstream timed out", [["content-type", "text/plain"]]),
  "529 overloaded": json(529, { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }),
  "408 json": json(408, { error: { message: "timeout" } }),
  "409 json": json(409, { error: { message: "conflict" } }),
  "422 list": json(422, { detail: [{ loc: ["body"], msg: "field required" }] }),
  "301 elsewhere": plain(301, "", [["location", "http://127.0.0.1:9/elsewhere"]]),
  "307 to itself": plain(307, "", [["location", "/v1/chat/completions"]]),
  "204 nothing": { play: () => [head(204, [["connection", "close"]])] },
  "200 empty": plain(200, "", [["content-type", "text/event-stream"]]),
  "200 html": html(200, "Please log in"),
  "200 garbage": plain(200, "\u0000\u0001 nothing of the kind", [["content-type", "text/plain"]]),
  "200 json error": json(200, { error: { message: "internal", code: 500 } }),
  "200 json answer": json(200, {
    choices: [{ message: { role: "assistant", content: "whole" }, finish_reason: "stop" }]
  })
} satisfies Record<string, Hostility>

const connections = {
  refused: { refused: true, play: () => [] },
  "reset at connect": { onConnect: "RESET", play: () => [] },
  "reset before headers": { play: () => ["RESET"] },
  "reset in headers": { play: () => ["HTTP/1.1 200 OK\r\ncontent-ty", { wait: 5 }, "RESET"] },
  "closed before headers": { play: () => [] },
  "silent before headers": { play: () => ["HANG"] },
  "headers byte by byte": {
    play: () => [...head(200, streaming)].slice(0, -2).flatMap((char): ReadonlyArray<Act> => [char, { wait: 100 }])
  },
  "no HTTP at all": { play: () => ["SSH-2.0-OpenSSH_9.2\r\n"] }
} satisfies Record<string, Hostility>

const bodies = {
  "reset in the body": stream(begun, ["RESET"]),
  "closed in the body": stream(begun, []),
  "ended in the text": stream(begun),
  "ended in an event": stream(`${begun}data: {"choices":[{"index":0,"del`),
  "ended in a character": stream(
    Buffer.from(`${begun}data: {"choices":[{"index":0,"delta":{"content":"é"}}]}`).subarray(0, -5)
  ),
  "ended in arguments": stream(callOf(0, "c1", '{"path":"a","te')),
  "reset in arguments": stream(callOf(0, "c1", '{"path":"a","te'), ["RESET"]),
  "ended after a whole call": stream(callOf(0, "c1", '{"path":"a"}')),
  "no [DONE]": stream(begun + delta({ content: "answer" }, "stop")),
  "[DONE] without a finish": stream(begun + delta({ content: "answer" }) + done),
  "[DONE] in a call": stream(callOf(0, "c1", '{"path":"a","te') + done),
  "hangs after the finish": stream(begun + delta({ content: "answer" }, "stop"), ["HANG"]),
  "error object first": stream(data({ error: { message: "boom", code: 500 } })),
  "error object after text": stream(begun + data({ error: { message: "boom", type: "server_error" } })),
  "error object after a whole call": stream(callOf(0, "c1", '{"path":"a"}') + data({ error: { message: "boom" } })),
  "error 429 in the stream": stream(begun + data({ error: { message: "slow down", code: 429 } })),
  "error 401 in the stream": stream(data({ error: { message: "expired", code: "invalid_api_key" } })),
  "overflow in the stream": stream(data({ error: { message: overflow, code: "context_length_exceeded" } })),
  "error as a string": stream(begun + data({ error: "boom" })),
  "error event": stream(`${begun}event: error\n${data({ message: "boom", type: "server_error" })}`),
  "malformed JSON": stream(`${begun}data: {"choices":[}\n\n${delta({}, "stop")}${done}`),
  "an event that is no object": stream(`${begun}${data([1, 2])}${delta({ content: "answer" }, "stop")}${done}`),
  "a giant line": stream(`data: ${"x".repeat(200_000)}`, ["HANG"]),
  "a giant reply": stream(delta({ content: "y".repeat(30_000) }).repeat(8), ["HANG"]),
  "comments only": {
    play: (random) => [
      head(200, streaming),
      ...pieces(begun, random),
      ...Array.from({ length: 80 }, (): ReadonlyArray<Act> => [
        chunk(Buffer.from(": still here\n\n")),
        { wait: 40 }
      ]).flat()
    ]
  },
  "a silent body": stream(begun, ["HANG"]),
  "a silent body from the start": { play: () => [head(200, streaming), "HANG"] },
  "slow and steady": {
    play: () => [
      head(200, streaming),
      ...["slow ", "and ", "steady"].flatMap((text): ReadonlyArray<Act> => [
        chunk(Buffer.from(delta({ content: text }))),
        { wait: 120 }
      ]),
      chunk(Buffer.from(delta({}, "stop") + done)),
      over
    ]
  },
  "a gzip claim": stream(begun + done, [over], [...streaming, ["content-encoding", "gzip"]]),
  "gzip that nobody asked for": stream(
    gzipSync(events({ text: ["x"] })),
    [over],
    [...streaming, ["content-encoding", "gzip"]]
  ),
  "a byte order mark": stream(`\ufeff${events({ text: ["answer"] })}`),
  "carriage returns": stream(events({ text: ["answer"] }).replaceAll("\n", "\r")),
  "bytes that are no UTF-8": stream(
    Buffer.concat([
      Buffer.from('data: {"choices":[{"index":0,"delta":{"content":"a'),
      Buffer.from([0xff, 0xfe]),
      Buffer.from(`b"}}]}\n\n${delta({}, "stop")}${done}`)
    ])
  ),
  "the wrong content type": stream(
    events({ text: ["answer"] }),
    [over],
    [
      ["content-type", "application/octet-stream"],
      ["transfer-encoding", "chunked"]
    ]
  )
} satisfies Record<string, Hostility>

const replies = {
  "an empty reply": reply({ text: [] }),
  "a blank reply": reply({ text: [" ", "\n"] }),
  "reasoning only": reply({ reasoning: ["let me think"] }),
  "a length without usage": reply({ text: ["half"], finish: "length" }),
  "a length at the cap": reply({
    text: ["half"],
    finish: "length",
    usage: { prompt_tokens: 9, completion_tokens: 64 }
  }),
  "a length below the cap": reply({
    text: ["half"],
    finish: "length",
    usage: { prompt_tokens: 9, completion_tokens: 4 }
  }),
  "an empty length": reply({ text: [], finish: "length" }),
  "a clipped call": reply({
    calls: [{ id: "c1", name: "write", arguments: ['{"path":"a"}'] }],
    usage: { prompt_tokens: 9, completion_tokens: 64 }
  }),
  "a clipped answer": reply({ text: ["looks whole"], usage: { prompt_tokens: 9, completion_tokens: 64 } }),
  "half a call under stop": stream(callOf(0, "c1", '{"path":"a","te') + delta({}, "stop") + done),
  "half a call under tool_calls": stream(callOf(0, "c1", '{"path":"a","te') + called),
  "a call under length": stream(callOf(0, "c1", '{"path":"a"}') + delta({}, "length") + done),
  "a filtered call": stream(callOf(0, "c1", '{"path":"a"}') + delta({}, "content_filter") + done),
  "a call that ended in error": stream(callOf(0, "c1", '{"path":"a"}') + delta({}, "error") + done),
  "tool_calls without a call": stream(delta({}, "tool_calls") + done)
} satisfies Record<string, Hostility>

const calls = {
  "duplicated ids": stream(callOf(0, "same", '{"n":1}') + callOf(1, "same", '{"n":2}') + called),
  "no ids": stream(callOf(0, undefined, '{"n":1}') + callOf(1, undefined, '{"n":2}') + called),
  "indexes with gaps": stream(callOf(7, "c1", '{"n":1}') + callOf(3, "c2", '{"n":2}') + called),
  "no indexes": stream(callOf(undefined, "c1", '{"n":1}') + callOf(undefined, "c2", '{"n":2}') + called),
  "one index for two calls": stream(callOf(0, "c1", '{"n":1}') + callOf(0, "c2", '{"n":2}') + called),
  "interleaved arguments": stream(
    callOf(0, "c1", '{"n"') +
      callOf(1, "c2", '{"n"') +
      fragment(0, { function: { arguments: ":1}" } }) +
      fragment(1, { function: { arguments: ":2}" } }) +
      called
  ),
  "empty arguments": stream(callOf(0, "c1", "") + called),
  "calls under stop": stream(callOf(0, "c1", '{"n":1}') + delta({}, "stop") + done),
  "a tool that nobody offered": stream(callOf(0, "c1", "{}", "rm_rf") + called),
  "a tool named __proto__": stream(callOf(0, "__proto__", "{}", "__proto__") + called),
  "a second choice": stream(
    data({ choices: [{ index: 1, delta: { content: "other" }, finish_reason: "stop" }] }) +
      delta({ content: "answer" }, "stop") +
      done
  )
} satisfies Record<string, Hostility>

export const kinds = { ...statuses, ...connections, ...bodies, ...replies, ...calls }
export type Kind = keyof typeof kinds

/** How a provider answers that does not misbehave. */
export const well = (text: string): ReadonlyArray<Act> => {
  const body = events({ text: [text] })
  return [
    head(200, [
      ["content-type", "text/event-stream"],
      ["content-length", `${Buffer.byteLength(body)}`],
      ["connection", "close"]
    ]),
    body
  ]
}
