/**
 * Proves that every check can fail: plants one violation at a time in a copy of the tree and expects the check to name it.
 * Not part of the tests, since it takes minutes: `npm run check:selftest`.
 */
import { spawnSync } from "node:child_process"
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { root } from "./check/lib.mjs"

const copy = mkdtempSync(join(tmpdir(), "check-selftest-"))

/** The packages are linked to the copy, everything else to what is installed. */
const link = (from, to) => {
  mkdirSync(to, { recursive: true })
  for (const entry of readdirSync(from)) {
    if (entry === "@settle") {
      mkdirSync(join(to, entry))
      for (const name of readdirSync(join(from, entry)))
        symlinkSync(join(copy, "packages", name), join(to, entry, name))
    } else symlinkSync(join(from, entry), join(to, entry))
  }
}

const make = () => {
  const listed = spawnSync("git", ["ls-files", "-co", "--exclude-standard"], { cwd: root, encoding: "utf8" }).stdout
  for (const path of listed.split("\n").filter((path) => path !== "" && existsSync(join(root, path)))) {
    cpSync(join(root, path), join(copy, path))
  }
  link(join(root, "node_modules"), join(copy, "node_modules"))
  for (const name of readdirSync(join(root, "packages"))) {
    const own = join(root, "packages", name, "node_modules")
    if (existsSync(own)) link(own, join(copy, "packages", name, "node_modules"))
  }
}

const core = "packages/core/src"
const append = (text) => (before) => `${before}\n${text}\n`

/** The check, where to plant, what to plant, and what its report must say. */
const plants = [
  ["types", `${core}/model/Json.ts`, append("export const planted: number = 'text'"), /not assignable/],
  ["types", "packages/core/test/planted.test.ts", () => "export const planted: number = 'text'\n", /not assignable/],
  [
    "effect",
    "packages/core/src/engine/Planted.ts",
    () => "import * as Effect from 'effect/Effect'\nexport const planted = () => {\n  Effect.log('lost')\n}\n",
    /floatingEffect/
  ],
  [
    "layering",
    `${core}/model/Json.ts`,
    append("import * as Backend from '../port/Backend.ts'\nexport const planted = Backend"),
    /model-imports-only-itself/
  ],
  [
    "layering",
    `${core}/model/Json.ts`,
    append("import * as Effect from 'effect/Effect'\nexport const planted = Effect.void"),
    /model-and-decide-are-pure/
  ],
  [
    "layering",
    `${core}/model/Pattern.ts`,
    append("import type { Json } from './Planted.ts'\nexport type Planted = Json"),
    /no-cycles/,
    [`${core}/model/Planted.ts`, "export type { Planted as Json } from './Pattern.ts'\n"]
  ],
  [
    "layering",
    `${core}/port/Transcript.ts`,
    append("import { Effect as All } from 'effect'\nexport const planted = All.void"),
    /no-effect-barrel/
  ],
  [
    "layering",
    `${core}/port/Transcript.ts`,
    append("import * as Fs from 'node:fs'\nexport const planted = Fs"),
    /core-knows-no-platform/
  ],
  [
    "layering",
    `${core}/engine/Work.ts`,
    append("import * as Feed from './Feed.ts'\nexport const planted = Feed"),
    /engine-Work-imports-downwards/
  ],
  [
    "layering",
    "packages/mcp/src/index.ts",
    append("import * as Feed from '@settle/core/engine/Feed'\nexport const planted = Feed"),
    /mcp-imports-its-neighbours-by-their-doors/
  ],
  [
    "layering",
    "packages/store-fs/src/index.ts",
    append("import * as World from '@settle/testing/World'\nexport const planted = World"),
    /src-never-imports-testing/
  ],
  ["layering", `${core}/model/Json.ts`, append("export * from './Nowhere.ts'"), /no-unresolved/],
  ["sources", `${core}/model/Json.ts`, append("export const planted = () => Date.now()"), /Date\.now\(\) in core/],
  ["sources", `${core}/model/Json.ts`, append("export const planted = () => new Date()"), /new Date\(\) in core/],
  [
    "sources",
    `${core}/model/Json.ts`,
    append("export const planted = () => Math.random()"),
    /Math\.random\(\) in core/
  ],
  [
    "sources",
    `${core}/model/Json.ts`,
    append("export const planted = () => setTimeout(() => {}, 1)"),
    /setTimeout\(\) in core/
  ],
  [
    "sources",
    `${core}/model/Json.ts`,
    append("export const planted = () => queueMicrotask(() => {})"),
    /queueMicrotask\(\) in core/
  ],
  [
    "sources",
    `${core}/model/Json.ts`,
    append("export const planted = () => crypto.randomUUID()"),
    /crypto\.randomUUID\(\) in core/
  ],
  ["sources", `${core}/model/Json.ts`, append("export const planted = () => process.env"), /process in core/],
  ["sources", `${core}/model/Json.ts`, append("export const planted = (x: any) => x"), /any: say what it is/],
  ["sources", `${core}/model/Json.ts`, append("export const planted = (x: string) => x as any"), /any: say what it is/],
  [
    "sources",
    `${core}/model/Json.ts`,
    append("export const planted = (x: string) => x as unknown as number"),
    /a cast through unknown/
  ],
  ["sources", `${core}/model/Json.ts`, append("// @ts-ignore\nexport const planted = 1"), /silences the compiler/],
  ["sources", `${core}/engine/Planted.ts`, () => "export const planted = 1\n", /has no place in/],
  [
    "sources",
    `${core}/engine/Work.ts`,
    append("export const planted = { _tag: 'RunFailed' }"),
    /is written by .*Closing/
  ],
  [
    "sources",
    `${core}/engine/Work.ts`,
    append("export const planted = (backend: { stream: () => void }) => backend.stream()"),
    /belongs to .*Attempt/
  ],
  [
    "sources",
    `${core}/engine/Work.ts`,
    append('export const planted = { type: "message" as const }'),
    /is written by .*Commit/
  ],
  ["unused", `${core}/model/Pattern.ts`, append("export const planted = 1"), /planted is exported/],
  ["unused", `${core}/model/Planted.ts`, () => "export const alone = 1\n", /Planted\.ts/],
  [
    "unused",
    "packages/mcp/package.json",
    (text) => text.replace('"dependencies": {', '"dependencies": { "planted-package": "1.0.0",'),
    /planted-package/
  ],
  ["format", `${core}/model/Json.ts`, append("export const planted = 1;"), /Json\.ts/],
  ["barrels", `${core}/model/Planted.ts`, () => "export const planted = 1\n", /npm run barrels/],
  ["readme", "README.md", (text) => text.replace("```ts\n", "```ts\nplanted\n"), /README\.md shows/],
  [
    "trace",
    "packages/core/test/planted.test.ts",
    () => "it('L-GEN-99 planted', () => {})\n",
    /L-GEN-99, which does not exist/
  ],
  [
    "trace",
    "docs/spec/requirements.md",
    (text) => text.replace("- L-GEN-09 — ", "- L-GEN-98 — planted\n- L-GEN-09 — "),
    /L-GEN-98/
  ],
  ["trace", "docs/spec/in-force.txt", append("L-NOTHING"), /names no requirement/]
]

const check = (name) => {
  const done = spawnSync(process.execPath, ["scripts/check.mjs", "--only", name], { cwd: copy, encoding: "utf8" })
  if (done.error !== undefined) throw done.error
  return { failed: done.status !== 0, output: `${done.stdout}${done.stderr}` }
}

const plant = ([name, path, change, expected, other]) => {
  const at = join(copy, path)
  const before = existsSync(at) ? readFileSync(at, "utf8") : undefined
  mkdirSync(dirname(at), { recursive: true })
  writeFileSync(at, change(before ?? ""))
  if (other !== undefined) writeFileSync(join(copy, other[0]), other[1])
  const { failed, output } = check(name)
  if (before === undefined) rmSync(at)
  else writeFileSync(at, before)
  if (other !== undefined) rmSync(join(copy, other[0]))
  const seen = failed && expected.test(output)
  console.log(`${seen ? "ok    " : "FAILED"} ${name}: ${expected.source} in ${path}`)
  if (!seen) console.log(output.split("\n").slice(0, 12).join("\n"))
  return seen
}

make()
const only = process.argv[2]?.split(",")
const missed = plants.filter(([name]) => only === undefined || only.includes(name)).filter((one) => !plant(one))
rmSync(copy, { recursive: true, force: true })
console.log(
  missed.length === 0 ? "every planted violation was found" : `${missed.length} planted violations were not found`
)
process.exitCode = missed.length === 0 ? 0 : 1
