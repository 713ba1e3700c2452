/**
 * Arguments that come as patches: each names a place by a JSON path and brings a value, or a piece of a string. Pure.
 *
 * J1. A string goes on where the last patch of its place said that it would; otherwise a patch sets the place anew.
 * J2. Names from outside are never keys of an object while it is built.
 * J3. A path that cannot be read, or leads through a value, is a fault and never a guess.
 */
import * as Json from "@settle/core/model/Json"

interface Leaf {
  readonly _tag: "Leaf"
  value: Json.Json
  /** A string that goes on. */
  open: boolean
}

interface Branch {
  readonly _tag: "Names" | "Places"
  readonly children: Map<string | number, Node>
}

type Node = Leaf | Branch

/** More elements than any list of arguments has. */
const longestList = 10_000

/** Arguments nested deeper are not taken up: to write them again would exhaust the stack. */
const deepest = 200

const isDeep = (value: Json.Json, left: number): boolean => {
  if (typeof value !== "object" || value === null) return false
  return left === 0 || Object.values(value).some((one: Json.Json) => isDeep(one, left - 1))
}

const step = /\.([^.[\]]+)|\[(\d+)\]|\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]/y

/** `$.a[0]['b c']` as its steps. */
const stepsOf = (path: string): ReadonlyArray<string | number> | undefined => {
  if (!path.startsWith("$")) return undefined
  const steps: Array<string | number> = []
  for (step.lastIndex = 1; step.lastIndex < path.length;) {
    const found = step.exec(path)
    if (found === null) return undefined
    const [, name, place, single, double] = found
    steps.push(place === undefined ? (name ?? (single ?? double ?? "").replace(/\\(.)/g, "$1")) : Number(place))
  }
  const far = steps.length > deepest || steps.some((one) => typeof one === "number" && one >= longestList)
  return far ? undefined : steps
}

const valueOf = (patch: Json.JsonObject): Json.Json | undefined => {
  if ("nullValue" in patch) return null
  return patch["stringValue"] ?? patch["numberValue"] ?? patch["boolValue"]
}

const branch = (key: string | number): Branch => ({
  _tag: typeof key === "number" ? "Places" : "Names",
  children: new Map()
})

const render = (node: Node | undefined): Json.Json => {
  if (node === undefined) return null
  if (node._tag === "Leaf") return node.value
  const { children } = node
  if (node._tag === "Names")
    return Object.fromEntries([...children].map(([key, child]) => [String(key), render(child)]))
  const length = Math.max(-1, ...[...children.keys()].map(Number)) + 1
  return Array.from({ length }, (_, at) => render(children.get(at)))
}

const planted = (value: Json.Json): Node => {
  if (Array.isArray(value)) {
    const items: ReadonlyArray<Json.Json> = value
    return { _tag: "Places", children: new Map(items.map((item, at) => [at, planted(item)])) }
  }
  if (!Json.isObject(value)) return { _tag: "Leaf", value, open: false }
  return { _tag: "Names", children: new Map(Object.entries(value).map(([key, child]) => [key, planted(child)])) }
}

export class PartialArgs {
  #root: Branch = { _tag: "Names", children: new Map() }
  /** Why what came cannot be read. */
  fault: string | undefined

  /** Whole arguments, or the first of them. */
  set(args: Json.JsonObject): void {
    if (isDeep(args, deepest)) {
      this.fault ??= `its arguments are nested deeper than ${deepest}`
      return
    }
    const node = planted(args)
    if (node._tag === "Leaf") return
    for (const [key, child] of node.children) this.#root.children.set(key, child)
  }

  patch(patch: Json.JsonObject): void {
    const path = patch["jsonPath"]
    const steps = typeof path === "string" ? stepsOf(path) : undefined
    const last = steps?.at(-1)
    const parent = steps === undefined || last === undefined ? undefined : this.#parent(steps)
    if (parent === undefined || last === undefined) {
      this.fault ??= `a piece of its arguments is for a place that cannot be read: ${Json.render(path ?? null).slice(0, 200)}`
      return
    }
    const known = parent.children.get(last)
    const value = valueOf(patch)
    const open = patch["willContinue"] === true
    if (value === undefined) {
      // a patch without a value may still end a string
      if (known?._tag === "Leaf") known.open = open
      return
    }
    if (known?._tag === "Leaf" && known.open && typeof known.value === "string" && typeof value === "string") {
      known.value += value
      known.open = open
    } else parent.children.set(last, { _tag: "Leaf", value, open })
  }

  #parent(steps: ReadonlyArray<string | number>): Branch | undefined {
    let at = this.#root
    for (const [n, key] of steps.entries()) {
      if ((at._tag === "Places") !== (typeof key === "number")) return undefined
      const next = steps[n + 1]
      if (next === undefined) return at
      const child = at.children.get(key) ?? branch(next)
      if (child._tag === "Leaf") return undefined
      at.children.set(key, child)
      at = child
    }
    return undefined
  }

  get isEmpty(): boolean {
    return this.#root.children.size === 0
  }

  get json(): Json.Json {
    return render(this.#root)
  }
}
