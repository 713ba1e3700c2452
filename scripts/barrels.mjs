/**
 * Writes the door of core, `packages/core/src/index.ts`, from the files that are there: one namespace a file.
 * `--check` writes nothing and fails when the door is not what it would be.
 */
import { writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"
import { files, read, root } from "./check/lib.mjs"

const door = "packages/core/src/index.ts"

/** The engine is a room for the run alone; of it, only the handle of a run is public. */
const modules = () =>
  files("packages/core/src/{model,port,decide,standard,tools,agent}/**/*.ts", "packages/core/src/engine/Run.ts")

export const render = () => {
  const lines = modules().map((path) => ({
    name: basename(path, ".ts"),
    from: path.replace("packages/core/src/", "./")
  }))
  const seen = new Map()
  for (const { from, name } of lines) {
    // Two files of one name: the decision or part keeps its folder's name behind it, in order of the folders.
    seen.set(name, [...(seen.get(name) ?? []), from])
  }
  const alias = ({ from, name }) => {
    const all = seen.get(name) ?? []
    if (all.length === 1) return name
    if (from === preferred(all)) return name
    const folder = from.split("/").at(-2) ?? ""
    return `${folder[0]?.toUpperCase()}${folder.slice(1)}${name}`
  }
  const text = lines.map((line) => `export * as ${alias(line)} from "${line.from}"`).sort()
  return `/** The door of core, one namespace a module. Written by scripts/barrels.mjs. */\n${text.join("\n")}\n`
}

/** A port's name belongs to the port, a word's to the word. */
const preferred = (all) => all.find((p) => p.includes("/model/")) ?? all.find((p) => p.includes("/port/")) ?? all[0]

export const check = () =>
  read(door) === render() ? [] : [`${door} is not what the files say: run \`npm run barrels\` and commit it`]

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv.includes("--check")) {
    for (const problem of check()) {
      console.error(problem)
      process.exitCode = 1
    }
  } else {
    writeFileSync(join(root, door), render())
    console.log(`${door}: ${render().split("\n").length - 2} modules`)
  }
}
