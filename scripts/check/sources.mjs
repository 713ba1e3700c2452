/**
 * Rules about the text of the sources that neither the compiler nor the layering rule sees.
 *
 * R1. Time, chance, timers and the process enter core through services (house rule: a seed replays a run).
 * R2. No `any`, and no cast through `unknown`, in any package's sources.
 * R3. One writer per thing: some calls and some events belong to one file each.
 * R4. Every engine file has its place in the order of calling.
 */
import { basename } from "node:path"
import { dotted, files, parse, place, read, walk } from "./lib.mjs"

const all = () => files("packages/*/src/**/*.ts")
const isCore = (path) => path.startsWith("packages/core/src/")

/** Globals that bring the outside in. `new Date(n)` and `Date.parse(text)` compute, `Date.now()` and `new Date()` look. */
const forbiddenCalls = new Set([
  "Date.now",
  "Date",
  "Math.random",
  "setTimeout",
  "setInterval",
  "setImmediate",
  "queueMicrotask",
  "crypto.randomUUID",
  "crypto.getRandomValues",
  "performance.now",
  "fetch"
])
const forbiddenNames = new Set(["process", "globalThis"])

/**
 * Who alone may call a method of a port, or write down a fact: [what, the files of packages/core/src, where the rule holds].
 * Events are told by their `_tag`, durable lines by their `type`.
 */
export const writers = {
  calls: [
    [/^(backend|self|model|link)\w*\.stream$/i, ["engine/Attempt.ts", "standard/Summary.ts"], /^(engine|standard)\//],
    [/^(provider|tools?)\w*\.execute$/i, ["engine/Dispatch.ts"], /^engine\//],
    [
      /(^|\.)transcript\.append$/,
      ["engine/Commit.ts", "engine/Grants.ts", "engine/Resume.ts"],
      /^(engine|standard|agent)\//
    ]
  ],
  facts: [
    ["_tag", ["RunCompleted", "RunFailed", "RunCancelled"], ["engine/Closing.ts"]],
    ["type", ["message"], ["engine/Commit.ts"]],
    ["type", ["tool-dispatched"], ["engine/Dispatch.ts"]],
    ["type", ["tool-settled"], ["engine/Settle.ts"]],
    ["type", ["compaction", "elision"], ["engine/Compact.ts"]],
    ["type", ["grants"], ["engine/Grants.ts"]],
    ["type", ["run-context"], ["engine/Resume.ts"]]
  ]
}

const outside = ({ node, parents, report }) => {
  const parent = parents.at(-1)
  if (node.type === "CallExpression" && forbiddenCalls.has(dotted(node.callee) ?? "")) {
    report(`${dotted(node.callee)}() in core: take it from an Effect service (Clock, Random, IdGenerator)`)
  }
  if (node.type === "NewExpression" && dotted(node.callee) === "Date" && node.arguments.length === 0) {
    report("new Date() in core: take the time from Clock")
  }
  const isMember = parent?.type === "MemberExpression" && parent.property === node && !parent.computed
  const isKey = parent?.type === "Property" && parent.key === node && !parent.shorthand
  const isType = parents.some((above) => above.type.startsWith("TS") && above.type !== "TSAsExpression")
  if (node.type === "Identifier" && forbiddenNames.has(node.name) && !isMember && !isKey && !isType) {
    report(`${node.name} in core: the platform enters through a port`)
  }
}

const unchecked = ({ node, report }) => {
  if (node.type === "TSAnyKeyword") report("any: say what it is, or unknown and decode it")
  if (node.type === "TSAsExpression" && node.expression.type === "TSAsExpression") {
    if (node.expression.typeAnnotation.type === "TSUnknownKeyword")
      report("a cast through unknown: decode or narrow it")
  }
}

const singleWriter = ({ node, parents, path, report }) => {
  const own = path.replace("packages/core/src/", "")
  if (node.type === "CallExpression") {
    const callee = dotted(node.callee) ?? ""
    for (const [method, only, within] of writers.calls) {
      if (within.test(own) && method.test(callee) && !only.includes(own)) {
        report(`${callee}() belongs to ${only.join(" and ")} alone`)
      }
    }
  }
  if (node.type !== "Property" || parents.at(-1)?.type !== "ObjectExpression" || !own.startsWith("engine/")) return
  const value = node.value.type === "TSAsExpression" ? node.value.expression.value : node.value.value
  for (const [key, values, only] of writers.facts) {
    if (node.key.name === key && values.includes(value) && !only.includes(own)) {
      report(`${key} "${value}" is written by ${only.join(" and ")} alone`)
    }
  }
}

export const check = () => {
  const problems = []
  for (const path of all()) {
    const file = parse(path)
    for (const { start, value } of file.comments) {
      if (/@ts-(ignore|nocheck|expect-error)/.test(value))
        problems.push(`${place(file, { start })} ${value.trim()}: silences the compiler`)
    }
    walk(file.program, (node, parents) => {
      const look = { node, parents, path, report: (what) => problems.push(`${place(file, node)} ${what}`) }
      unchecked(look)
      if (isCore(path)) {
        outside(look)
        singleWriter(look)
      }
    })
  }
  const order = JSON.parse(read("scripts/check/engine-order.json"))
  for (const path of files("packages/core/src/engine/*.ts")) {
    if (!order.includes(basename(path, ".ts"))) {
      problems.push(`${path} has no place in scripts/check/engine-order.json: put it below every file that imports it`)
    }
  }
  if (all().length === 0) problems.push("no source was found: the check looks in the wrong place")
  return problems
}

/** The ten largest files and functions, to look at and not to obey. */
export const largest = () => {
  const bySize = []
  const functions = []
  for (const path of all()) {
    const file = parse(path)
    bySize.push({ lines: file.text.split("\n").length - 1, name: path })
    walk(file.program, (node, parents) => {
      if (!/Function/.test(node.type) || node.body === null || node.type.startsWith("TS")) return
      const lines = file.text.slice(node.start, node.end).split("\n").length
      const named = parents.findLast((above) => above.id?.name !== undefined || above.key?.name !== undefined)
      functions.push({
        lines,
        name: `${place(file, node)} ${node.id?.name ?? named?.id?.name ?? named?.key?.name ?? ""}`,
        path,
        node
      })
    })
  }
  // A function that only wraps another one (a generator in an `Effect.fn`) would be listed twice.
  const outermost = functions.filter(
    (f) =>
      !functions.some(
        (g) =>
          g !== f &&
          g.path === f.path &&
          g.node.start <= f.node.start &&
          g.node.end >= f.node.end &&
          g.lines - f.lines <= 4
      )
  )
  const top = (list) =>
    list
      .sort((a, b) => b.lines - a.lines)
      .slice(0, 10)
      .map(({ lines, name }) => `${String(lines).padStart(6)}  ${name}`)
  return ["largest files", ...top(bySize), "largest functions", ...top(outermost)].join("\n")
}
