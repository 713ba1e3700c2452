/**
 * Requirements against tests, by id.
 *
 * T1. An id in force (docs/spec/in-force.txt) that no test name starts with fails.
 * T2. A test name that starts with an id that does not exist fails.
 * T3. A test that is skipped or still to be written covers nothing.
 * Ids not in force and tests without an id are counted, and listed with --all.
 */
import { fileURLToPath } from "node:url"
import { dotted, files, parse, place, read, walk } from "./check/lib.mjs"

const requirement = /^- ([A-Z]+(?:-[A-Z0-9]+)*-\d+) — /gm
const fieldCase = /^\| ([A-Z]\d+) \| /gm
const idShape = /^(?:[A-Z]+(?:-[A-Z0-9]+)*-\d+|[A-Z]\d+)$/

const idsOf = (path, pattern) => [...read(path).matchAll(pattern)].map((match) => match[1])

/** `L-GEN` is a group, `X-WIRE-01..05` a range, `S` all field cases of that letter, `- M10 why` an exception. */
const inForce = (ids) => {
  const chosen = new Set()
  const lines = read("docs/spec/in-force.txt").split("\n")
  for (const line of lines.map((text) => text.replace(/#.*/, "").trim()).filter((text) => text !== "")) {
    const except = line.startsWith("- ")
    const [entry] = (except ? line.slice(2) : line).split(" ")
    const matched = ids.filter((id) => matches(entry, id))
    if (matched.length === 0) throw new Error(`docs/spec/in-force.txt: ${entry} names no requirement`)
    for (const id of matched) except ? chosen.delete(id) : chosen.add(id)
  }
  return chosen
}

const matches = (entry, id) => {
  if (id === entry) return true
  const range = /^(.*-)(\d+)\.\.(\d+)$/.exec(entry)
  if (range !== null) {
    const number = Number(id.slice(range[1].length))
    return id.startsWith(range[1]) && number >= Number(range[2]) && number <= Number(range[3])
  }
  return /^[A-Z]$/.test(entry) && /^[A-Z]\d+$/.test(id) ? id.startsWith(entry) : id.startsWith(`${entry}-`)
}

const nameOf = (argument) => {
  if (argument?.type === "Literal" && typeof argument.value === "string") return argument.value
  if (argument?.type === "TemplateLiteral") return argument.quasis[0]?.value.cooked
  return undefined
}

/** Every test that is written down: its name and where. */
const tests = () => {
  const found = []
  for (const path of files("packages/*/test/**/*.ts", "packages/testing/src/suites/**/*.ts", "scripts/**/*.test.ts")) {
    const file = parse(path)
    walk(file.program, (node) => {
      if (node.type !== "CallExpression") return
      const direct = dotted(node.callee)
      const callee = direct ?? dotted(node.callee.callee ?? {}) ?? ""
      if (!/^(it|test)(\.|$)/.test(callee) || /\.(skip|todo|skipIf|runIf)$/.test(callee)) return
      // `it.each(list)` alone is no test yet: the call of what it answers is.
      if (direct?.endsWith(".each")) return
      const name = nameOf(node.arguments[0])
      if (name !== undefined) found.push({ name, at: place(file, node) })
    })
  }
  return found
}

const leadingIds = (name) => {
  const words = name.split(/[\s,:]+/)
  const end = words.findIndex((word) => !idShape.test(word))
  return end === -1 ? words : words.slice(0, end)
}

export const trace = () => {
  const requirements = idsOf("docs/spec/requirements.md", requirement)
  const cases = idsOf("docs/spec/field-cases.md", fieldCase)
  const ids = [...requirements, ...cases]
  const known = new Set(ids)
  const letters = new Set(cases.map((id) => id[0]))
  const forced = inForce(ids)
  const covered = new Map(ids.map((id) => [id, 0]))
  const problems = []
  const nameless = []
  const written = tests()
  for (const { at, name } of written) {
    const named = leadingIds(name)
    if (named.length === 0) nameless.push(`${at} ${name}`)
    for (const id of named) {
      if (known.has(id)) covered.set(id, (covered.get(id) ?? 0) + 1)
      // A single letter that no field case uses numbers an invariant of the tested module.
      else if (id.includes("-") || letters.has(id[0])) problems.push(`${at} names ${id}, which does not exist`)
    }
  }
  const open = ids.filter((id) => covered.get(id) === 0)
  const owed = open.filter((id) => forced.has(id))
  if (owed.length > 0) problems.push(`${owed.length} ids are in force and no test names them: ${owed.join(" ")}`)
  if (requirements.length < 300 || cases.length < 50)
    problems.push("the lists of ids were not read: the check looks in the wrong place")
  return {
    problems,
    later: open.filter((id) => !forced.has(id)),
    nameless,
    summary: `${ids.length} ids, ${ids.length - open.length} covered; ${forced.size} in force, ${[...forced].filter((id) => covered.get(id) !== 0).length} of them covered; ${written.length} tests, ${nameless.length} without an id`
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { later, nameless, problems, summary } = trace()
  for (const problem of problems) console.error(problem)
  if (process.argv.includes("--all")) {
    console.log(`not yet in force and not covered:\n  ${later.join(" ")}`)
    console.log(`tests without an id:\n  ${nameless.join("\n  ")}`)
  } else console.log(`${later.length} ids that are not in force have no test yet (--all lists them)`)
  console.log(summary)
  process.exitCode = problems.length === 0 ? 0 : 1
}
