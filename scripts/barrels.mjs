/**
 * Writes what follows from the files that are there: the door of core (`packages/core/src/index.ts`, one namespace a file) and the
 * map of all modules (`docs/modules.md`, the first sentence of each header). `--check` writes nothing and fails when one is stale.
 */
import { writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { files, parse, read, root } from "./check/lib.mjs"

const door = "packages/core/src/index.ts"
const map = "docs/modules.md"

/** The engine is a room for the run alone; of it, only the handle of a run is public. */
const modules = () =>
  files("packages/core/src/{model,port,decide,standard,tools,agent}/**/*.ts", "packages/core/src/engine/Run.ts")

const renderDoor = () => {
  const lines = modules().map((path) => ({
    name: basename(path, ".ts"),
    from: path.replace("packages/core/src/", "./")
  }))
  const named = Map.groupBy(lines, ({ name }) => name)
  const exported = lines.map(({ from, name }) => `export * as ${alias(name, from, named.get(name))} from "${from}"`)
  return `/** The door of core, one namespace a module. Written by scripts/barrels.mjs. */\n${exported.sort().join("\n")}\n`
}

/** Of two files with one name the word keeps it, else the port; the other takes its folder's name in front. */
const alias = (name, from, all) => {
  const owner = ["/model/", "/port/", ""].map((folder) => all.find((one) => one.from.includes(folder))).find(Boolean)
  if (owner.from === from) return name
  const folder = basename(dirname(from))
  return `${folder[0].toUpperCase()}${folder.slice(1)}${name}`
}

/** First sentence of the comment a file starts with. */
const headline = (path) => {
  const { comments, text } = parse(path)
  const first = comments[0]
  if (first === undefined || first.start > 3 || !text.startsWith("/**")) return ""
  const words = first.value
    .split("\n")
    .map((line) => line.replace(/^\s*\*+ ?/, ""))
    .join("\n")
    .trim()
    .split(/\n\s*\n/)[0]
    .replace(/\s+/g, " ")
  return /^(.*?[.!?])(?= [A-Z`]|$)/.exec(words)?.[1] ?? words
}

const renderMap = () => {
  const sources = files("packages/*/src/**/*.ts").filter((path) => basename(path) !== "index.ts")
  const folders = Map.groupBy(sources, (path) => dirname(path))
  const sections = [...folders].map(([folder, paths]) => {
    const rows = paths.map((path) => `| [${basename(path)}](../${path}) | ${headline(path).replaceAll("|", "\\|")} |`)
    return `## ${folder.replace("packages/", "").replace("/src", "")}\n\n| file | what it is |\n|---|---|\n${rows.join("\n")}\n`
  })
  return `# Modules\n\nThe first sentence of every source file. Written by scripts/barrels.mjs.\n\n${sections.join("\n")}`
}

const targets = [
  [door, renderDoor],
  [map, renderMap]
]

export const check = () =>
  targets
    .filter(([path, render]) => read(path) !== render())
    .map(([path]) => `${path} is not what the files say: run \`npm run barrels\` and commit it`)

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv.includes("--check")) {
    for (const problem of check()) {
      console.error(problem)
      process.exitCode = 1
    }
  } else {
    for (const [path, render] of targets) writeFileSync(join(root, path), render())
    console.log(targets.map(([path]) => path).join(", "))
  }
}
