/**
 * The built-in model: loading, and the speed of inference, prompt tokens included.
 *
 *   node -C source bench/embedded.ts
 *
 * Its floor is the multiply-adds of the same tokens in one bare loop over an array: what is lost to attention, norms, grammar and
 * the turns of the event loop is the ratio. Printed is one line of JSON: medians of five, times in milliseconds.
 */
import * as Message from "@settle/core/model/Message"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Embedded from "@settle/backends/embedded/Backend"

const repetitions = 5
const requests = 60

const tool = (name: string, ...keys: ReadonlyArray<string>) => ({
  name,
  parameters: {
    type: "object",
    properties: Object.fromEntries(keys.map((key) => [key, { type: "string" }])),
    required: keys
  }
})
const tools = [
  tool("files_list_directory", "path"),
  tool("files_read_text_file", "path"),
  tool("files_write_file", "path", "content"),
  tool("calculator", "expression")
]

const ask = (backend: Embedded.Embedded, text: string) =>
  Effect.map(
    Stream.runCollect(backend.stream({ conversation: { messages: [Message.user(text)], revision: 0 }, tools })),
    (chunks) => {
      const last = chunks.at(-1)
      if (last?._tag !== "Finished" || last.reply.toolCalls.length !== 1) throw new Error(`no call for ${text}`)
      const { cachedPromptTokens = 0, completionTokens = 0, promptTokens = 0 } = last.reply.usage ?? {}
      return promptTokens - cachedPromptTokens + completionTokens
    }
  )

const median = (values: ReadonlyArray<number>): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

const macs = ({ hidden, layers, width }: { hidden: number; layers: ReadonlyArray<unknown>; width: number }): number =>
  layers.length * (4 * width * width + 3 * width * hidden)

const bareLoop = (count: number): number => {
  const values = Float32Array.from({ length: 4096 }, (_, i) => Math.sin(i))
  const started = performance.now()
  let [a, b, c, d] = [0, 0, 0, 0]
  for (let done = 0; done < count; done += values.length) {
    for (let i = 0; i < values.length; i += 4) {
      a += values[i]! * values[i]!
      b += values[i + 1]! * values[i]!
      c += values[i + 2]! * values[i]!
      d += values[i + 3]! * values[i]!
    }
  }
  if (Number.isNaN(a + b + c + d)) throw new Error("no number")
  return performance.now() - started
}

const measure = Effect.gen(function* () {
  const loads: Array<number> = []
  const firsts: Array<number> = []
  const rates: Array<number> = []
  const actions: Array<number> = []
  const ratios: Array<number> = []
  for (let repetition = 0; repetition < repetitions; repetition++) {
    const backend = yield* Embedded.make()
    const t0 = performance.now()
    const model = yield* backend.load
    loads.push(performance.now() - t0)
    const t1 = performance.now()
    yield* ask(backend, "What is in notes.txt?")
    firsts.push(performance.now() - t1)
    const t2 = performance.now()
    let tokens = 0
    for (let i = 0; i < requests; i++) tokens += yield* ask(backend, `Please show me what is in notes/plan${i}.txt`)
    const ms = performance.now() - t2
    rates.push((tokens / ms) * 1000)
    actions.push(ms / requests)
    ratios.push(ms / bareLoop(tokens * macs(model.llama)))
  }
  return {
    loadMs: median(loads),
    firstActionMs: median(firsts),
    actionMs: median(actions),
    tokensPerSecond: median(rates),
    ratioToBareLoop: median(ratios)
  }
})

const round = (value: number): number => Math.round(value * 100) / 100

const figures = await Effect.runPromise(measure)
console.log(JSON.stringify(Object.fromEntries(Object.entries(figures).map(([key, value]) => [key, round(value)]))))
