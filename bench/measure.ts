/**
 * Measures one contestant in one scenario, in a process of its own, and prints one line of JSON. It throws when the contestant did
 * other work than asked: a wrong number of calls, other arguments, other text.
 *
 *   node --expose-gc measure.mjs <contestant> <scenario> <base URL>
 */
import { readFileSync } from "node:fs"
import { enableCompileCache } from "node:module"

export interface Work {
  readonly model: string
  readonly prompt: string
  /** Runs for every call of the tool. */
  readonly echo: (argument: { readonly text: string }) => string
  /** Hears every text of every answer, as it streams. */
  readonly onText: (text: string) => void
}

export interface Contestant {
  /** One agent on a fresh conversation, to its end; the text of the final answer. */
  readonly run: (work: Work) => Promise<string>
  readonly close: () => Promise<void>
}

export type Load = (baseUrl: string) => Promise<Contestant>

enableCompileCache()

const [name = "", scenario = "", baseUrl = ""] = process.argv.slice(2)
const loads: Record<string, () => Promise<{ readonly load: Load }>> = {
  raw: () => import("./contestants/raw.ts"),
  settle: () => import("./contestants/settle.ts"),
  "settle-journal": () => import("./contestants/settle-journal.ts")
}

const cpuMs = (since?: NodeJS.CpuUsage): number => {
  const used = process.cpuUsage(since)
  return (used.user + used.system) / 1000
}
const median = (values: ReadonlyArray<number>): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return ((sorted[middle] ?? 0) + (sorted[sorted.length % 2 === 0 ? middle - 1 : middle] ?? 0)) / 2
}
/** The system's own figure counts from the process that started this one; Linux keeps a better one. */
const peakRssMb = (): number => {
  const status = process.platform === "linux" ? readFileSync("/proc/self/status", "utf8") : ""
  const peak = /VmHWM:\s+(\d+)/.exec(status)?.[1]
  return (peak === undefined ? process.resourceUsage().maxRSS : Number(peak)) / 1024
}
const same = (what: string, found: number, wanted: number): void => {
  if (found !== wanted) throw new Error(`${name} did other work: ${what} ${found}, wanted ${wanted}`)
}

interface Task {
  readonly rounds: number
  readonly texts: number
  readonly argument: number
  readonly split?: boolean
  readonly onCall?: () => void
}

const pieceLength = "token ".length

const runOne = async (contestant: Contestant, { argument, onCall, rounds, split, texts }: Task): Promise<void> => {
  let calls = 0
  let heard = 0
  const final = await contestant.run({
    model: `r${rounds}-t${texts}-a${argument}${split === true ? "-s" : ""}`,
    prompt: "Go.",
    echo: ({ text }) => {
      calls++
      same("argument bytes", text.length, argument)
      onCall?.()
      return text
    },
    onText: (text) => {
      heard += text.length
    }
  })
  same("tool calls", calls, rounds)
  same("characters of the answer", final.length, texts * pieceLength)
  same("characters streamed", heard, texts * pieceLength)
}

/** One agent of 200 rounds after a warm-up of 100; CPU between one tool call and the next is a round. */
const rounds = async (contestant: Contestant) => {
  const count = 200
  await runOne(contestant, { rounds: 100, texts: 20, argument: 256 })
  globalThis.gc?.()
  const perRound: Array<number> = []
  const wall = performance.now()
  const from = process.cpuUsage()
  let last = cpuMs()
  const onCall = () => {
    const now = cpuMs()
    perRound.push(now - last)
    last = now
  }
  await runOne(contestant, { rounds: count, texts: 20, argument: 256, onCall })
  const total = cpuMs(from)
  return {
    cpuMs: total,
    wallMs: performance.now() - wall,
    perUnitUs: (total * 1000) / (count + 1),
    firstMs: median(perRound.slice(1, 21)),
    lastMs: median(perRound.slice(-20))
  }
}

/** One answer of 20,000 pieces; `split` sends one event a write, as a provider does. */
const stream = async (contestant: Contestant, split: boolean) => {
  const count = 20_000
  await runOne(contestant, { rounds: 0, texts: 4000, argument: 0, split })
  globalThis.gc?.()
  const wall = performance.now()
  const from = process.cpuUsage()
  await runOne(contestant, { rounds: 0, texts: count, argument: 0, split })
  const total = cpuMs(from)
  return { cpuMs: total, wallMs: performance.now() - wall, perUnitUs: (total * 1000) / count }
}

const main = async () => {
  const chosen = loads[name]
  if (chosen === undefined) throw new Error(`no contestant is called ${name}`)
  const contestant = await (await chosen()).load(baseUrl)
  const importMs = performance.now()
  const measured = await (async () => {
    switch (scenario) {
      case "A":
        return rounds(contestant)
      case "B":
        return stream(contestant, false)
      case "B1":
        return stream(contestant, true)
      case "D":
        await runOne(contestant, { rounds: 1, texts: 20, argument: 64 })
        return { cpuMs: cpuMs(), wallMs: performance.now(), importMs }
      default:
        throw new Error(`no scenario is called ${scenario}`)
    }
  })()
  const row = { ...measured, maxRssMb: peakRssMb() }
  process.stdout.write(`${JSON.stringify(row)}\n`)
  await contestant.close()
  process.exit(0)
}

await main()
