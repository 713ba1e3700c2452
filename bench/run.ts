/**
 * The benchmarks, as ratios: `npm run bench -- [--scenarios A,B,B1,D,E,F] [--contestants settle,settle-journal] [--reps 3]`.
 *
 * Each run of a contestant has a run of the raw floor before and after it, on the same machine in the same minute; its ratio is
 * taken against the mean of the two. Reported are medians with the least and the most. BENCHMARKS.md says what this is worth.
 */
import { spawn, spawnSync } from "node:child_process"
import { createRequire } from "node:module"
import { loadavg } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { rolldown } from "rolldown"

const root = fileURLToPath(new URL("..", import.meta.url))
const out = join(root, ".cache/bench")

const option = (name: string, fallback: string): string => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? fallback : (process.argv[at + 1] ?? fallback)
}
const scenarios = option("scenarios", "A,B,B1,D,E,F").split(",")
const contestants = option("contestants", "settle,settle-journal").split(",")
const reps = Number(option("reps", "3"))

const usage = "npm run bench -- [--scenarios A,B,B1,D,E,F] [--contestants settle,settle-journal] [--reps 3]"
if (process.argv.includes("--help")) {
  console.log(usage)
  process.exit(0)
}
const known = ["A", "B", "B1", "D", "E", "F"]
const unknown = scenarios.filter((scenario) => !known.includes(scenario))
if (unknown.length > 0 || !(reps >= 1)) {
  console.error(`There is no scenario ${unknown.join(", ")}, or --reps is not a number above zero.\n${usage}`)
  process.exit(2)
}

type Row = Readonly<Record<string, number>>

/** The floor sends through the very client that the backends use, wherever it was installed. */
const sameClient = {
  name: "same-client",
  resolveId: (id: string, importer: string | undefined) =>
    id === "undici" && importer?.includes("/bench/") === true
      ? createRequire(join(root, "packages/backends/package.json")).resolve("undici")
      : null
}

/** Everything is measured as it ships: one bundle for each entry, contestants in chunks of their own. */
const build = async (): Promise<void> => {
  const bundle = await rolldown({
    input: Object.fromEntries(["measure", "durable", "replay"].map((name) => [name, join(root, `bench/${name}.ts`)])),
    cwd: root,
    platform: "node",
    external: [/^node-llama-cpp/, /^redis$/],
    plugins: [sameClient],
    resolve: { conditionNames: ["source", "import", "node", "default"] },
    onLog: () => undefined
  })
  await bundle.write({ dir: out, format: "esm", entryFileNames: "[name].mjs", chunkFileNames: "[name]-[hash].mjs" })
  await bundle.close()
}

const node = (entry: string, args: ReadonlyArray<string>): Row => {
  const done = spawnSync(process.execPath, ["--expose-gc", join(out, `${entry}.mjs`), ...args], {
    encoding: "utf8",
    timeout: 300_000
  })
  if (done.status !== 0) throw new Error(`${entry} ${args.join(" ")} ended with ${done.status}: ${done.stderr}`)
  return JSON.parse(done.stdout.trim().split("\n").at(-1) ?? "{}")
}

const startServer = async () => {
  const child = spawn(process.execPath, [join(root, "bench/server.ts")], {
    stdio: ["ignore", "pipe", "inherit", "ipc"]
  })
  const port = await new Promise<string>((resolve, reject) => {
    child.stdout?.once("data", (line: Buffer) => resolve(String(line).trim()))
    child.once("exit", (code) => reject(new Error(`the bench server ended with ${code}`)))
  })
  return { baseUrl: `http://127.0.0.1:${port}/v1`, stop: () => child.kill("SIGTERM") }
}

const median = (values: ReadonlyArray<number>): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const at = sorted.length >> 1
  return ((sorted[at] ?? NaN) + (sorted[sorted.length % 2 === 0 ? at - 1 : at] ?? NaN)) / 2
}
const figure = (value: number): string =>
  Number.isNaN(value) ? "-" : value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)
const spread = (values: ReadonlyArray<number>): string =>
  `${figure(median(values))} (${figure(Math.min(...values))}-${figure(Math.max(...values))})`
const column = (rows: ReadonlyArray<Row>, key: string): ReadonlyArray<number> => rows.map((row) => row[key] ?? NaN)

const table = (title: string, head: ReadonlyArray<string>, lines: ReadonlyArray<ReadonlyArray<string>>): void => {
  console.log(`\n${title} (load ${loadavg()[0]?.toFixed(1)})\n`)
  for (const line of [head, head.map(() => "---"), ...lines]) console.log(`| ${line.join(" | ")} |`)
}

const loops: Record<string, { readonly title: string; readonly unit: string }> = {
  A: { title: "A. 200 rounds of one tool call, conversation growing", unit: "CPU us/round" },
  B: { title: "B. 20,000 pieces of text in large writes", unit: "CPU us/piece" },
  B1: { title: "B1. 20,000 pieces of text, one event a write", unit: "CPU us/piece" },
  D: { title: "D. Cold start: process begin to the end of a two-round run", unit: "CPU us" }
}

/** raw, X, raw, Y, raw …; the order of the contestants turns round every repetition. */
const compare = async (scenario: string, baseUrl: string): Promise<void> => {
  const rows = new Map<string, Array<Row>>([
    ["raw", []],
    ...contestants.map((name): [string, Array<Row>] => [name, []])
  ])
  const ratios = new Map<string, Array<Row>>(contestants.map((name) => [name, []]))
  const once = (name: string): Row => {
    const row = node("measure", [name, scenario, baseUrl])
    rows.get(name)?.push(row)
    return row
  }
  // Files and compile cache are warm for everybody.
  for (const name of ["raw", ...contestants]) node("measure", [name, "D", baseUrl])
  for (let rep = 0; rep < reps; rep++) {
    let before = once("raw")
    for (const name of rep % 2 === 0 ? contestants : contestants.toReversed()) {
      const row = once(name)
      const after = once("raw")
      const ratio = (key: string) => (row[key] ?? NaN) / (((before[key] ?? NaN) + (after[key] ?? NaN)) / 2)
      ratios
        .get(name)
        ?.push({ cpu: ratio("cpuMs"), wall: ratio("wallMs"), first: ratio("firstMs"), last: ratio("lastMs") })
      before = after
    }
  }
  const { title, unit } = loops[scenario] ?? { title: scenario, unit: "" }
  const growth = scenario === "A"
  table(
    title,
    [
      "contestant",
      "x raw CPU",
      "x raw wall",
      ...(growth ? ["x raw, first 20", "x raw, last 20", "last/first"] : []),
      unit,
      "RSS MB"
    ],
    [...rows].map(([name, own]) => {
      const against = ratios.get(name) ?? []
      const times = (key: string) => (name === "raw" ? "1" : spread(column(against, key)))
      const unitValues = scenario === "D" ? column(own, "cpuMs").map((ms) => ms * 1000) : column(own, "perUnitUs")
      return [
        name,
        times("cpu"),
        times("wall"),
        ...(growth
          ? [
              times("first"),
              times("last"),
              figure(median(own.map((row) => (row["lastMs"] ?? NaN) / (row["firstMs"] ?? NaN))))
            ]
          : []),
        figure(median(unitValues)),
        figure(median(column(own, "maxRssMb")))
      ]
    })
  )
}

/** Floors and ours alternate inside one process, since only figures of the same minute on the same disk compare. */
const inside = (entry: string, title: string): void => {
  const rows = Array.from({ length: reps }, () => node(entry, []))
  const names = Object.keys(rows[0] ?? {})
  table(
    title,
    ["what", "median (least-most)"],
    names.map((name) => [name, spread(column(rows, name))])
  )
}

await build()
const server = await startServer()
try {
  for (const scenario of scenarios) {
    if (scenario === "E") inside("durable", "E. Appending lines of about 1 KB")
    else if (scenario === "F") inside("replay", "F. Reading back 100,000 lines")
    else await compare(scenario, server.baseUrl)
  }
} finally {
  server.stop()
}
