/** What the checks share: the files of this repository, their syntax trees, and a way to run a program. */
import { spawnSync } from "node:child_process"
import { globSync, readFileSync } from "node:fs"
import { join, relative, sep } from "node:path"
import { fileURLToPath } from "node:url"
import { parseSync } from "rolldown/experimental"

export const root = fileURLToPath(new URL("../..", import.meta.url))

const skipped = /(^|\/)(node_modules|dist|\.cache|\.git)(\/|$)/

/** Paths from the root, sorted, with `/`. */
export const files = (...patterns) =>
  globSync(patterns, { cwd: root, exclude: (path) => skipped.test(path.split(sep).join("/")) })
    .map((path) => path.split(sep).join("/"))
    .filter((path) => !skipped.test(path))
    .sort()

export const read = (path) => readFileSync(join(root, path), "utf8")

/** The syntax tree of one source file, its text and its comments. A file that does not parse is an error of the check. */
export const parse = (path) => {
  const text = read(path)
  const { comments, errors, program } = parseSync(path, text, { lang: "ts", sourceType: "module" })
  if (errors.length > 0) throw new Error(`${path}: ${errors[0].message}`)
  return { path, text, program, comments }
}

/** Calls `visit(node, parents)` for every node, outermost first. */
export const walk = (node, visit, parents = []) => {
  if (typeof node.type === "string") visit(node, parents)
  const above = typeof node.type === "string" ? [...parents, node] : parents
  for (const key in node) {
    const child = node[key]
    if (typeof child === "object" && child !== null) walk(child, visit, above)
  }
}

export const lineOf = (text, offset) => text.slice(0, offset).split("\n").length

export const place = ({ path, text }, node) => `${path}:${lineOf(text, node.start)}`

/** The dotted name of an expression, `it.effect.prop`; undefined when it is not made of names alone. */
export const dotted = (node) => {
  if (node.type === "Identifier") return node.name
  if (node.type !== "MemberExpression" || node.computed) return undefined
  const object = dotted(node.object)
  return object === undefined ? undefined : `${object}.${node.property.name}`
}

/** Runs a program and answers what it printed, without colours. */
export const capture = (command, args) => {
  const done = spawnSync(command, args, {
    cwd: root,
    encoding: "utf8",
    env: { ...process.env, NO_COLOR: "1", FORCE_COLOR: "0" },
    maxBuffer: 1 << 28
  })
  if (done.error !== undefined) throw done.error
  return { code: done.status ?? 1, output: `${done.stdout}${done.stderr}`.trim() }
}

/** A pinned tool that is not in the lock file, since its platform packages would not install everywhere from there. */
export const npx = (packages, args) => capture("npx", ["-y", ...packages.flatMap((name) => ["-p", name]), ...args])

export const fromRoot = (path) => relative(root, path).split(sep).join("/")
