/**
 * Many providers as one, told apart by a prefix.
 *
 * R1. A tool is published as prefix, separator and its own name; a call goes to the longest tag that its name begins with, with
 *     the tag taken off. Registries nest.
 * R2. A batch becomes one batch for each provider, begun in the order of registration; answers come back in the order of the calls.
 * R3. Every call is answered: an unknown prefix, a provider that threw and one that answered too little are errors of those calls
 *     and of no others (L-TOOL-09, -10).
 * R4. `list` answers the same array for as long as its parts are the same arrays. A provider that cannot list fails it.
 * R5. A tool that a call could not reach, because a longer tag claims its name, is left out and logged.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Tool from "../model/Tool.ts"
import type { ToolProvider } from "../port/ToolProvider.ts"

export class BadPrefix extends Schema.TaggedError<BadPrefix>()("BadPrefix", {
  prefix: Schema.String,
  problem: Schema.Literals(["alphabet", "taken"])
}) {
  override get message(): string {
    return this.problem === "alphabet"
      ? `the prefix ${JSON.stringify(this.prefix)} may hold only letters, digits, "_" and "-", and not be empty`
      : `the prefix ${JSON.stringify(this.prefix)} is taken by another provider; give one of them another prefix`
  }
}

export interface Mount {
  readonly prefix: string
  /** Between prefix and name. Default `_`. */
  readonly separator?: string
  readonly provider: ToolProvider
}

export interface Registry extends ToolProvider {
  readonly add: (mount: Mount) => Effect.Effect<void, BadPrefix>
  /** False when there is no such prefix. */
  readonly remove: (prefix: string) => Effect.Effect<boolean>
  /** In the order of registration. */
  readonly prefixes: Effect.Effect<ReadonlyArray<string>>
}

interface Mounted {
  readonly prefix: string
  readonly tag: string
  readonly provider: ToolProvider
}

interface Merged {
  readonly parts: ReadonlyArray<ReadonlyArray<Tool.Declaration>>
  readonly mounts: ReadonlyArray<Mounted>
  readonly all: ReadonlyArray<Tool.Declaration>
  /** Names no call could reach. */
  readonly unreachable: ReadonlyArray<string>
}

export const make = (mounts: ReadonlyArray<Mount> = []): Effect.Effect<Registry, BadPrefix> =>
  Effect.gen(function* () {
    // replaced whole, never changed in place: a batch or a list that is under way keeps the one it began with
    let mounted: ReadonlyArray<Mounted> = []
    let last: Merged | undefined = undefined
    for (const mount of mounts) mounted = yield* withMount(mounted, mount)

    const list = Effect.gen(function* () {
      const now = mounted
      const parts = yield* Effect.forEach(now, ({ provider }) => provider.list, { concurrency: "unbounded" })
      if (last !== undefined && last.mounts === now && sameParts(last.parts, parts)) return last.all
      last = merge(now, parts)
      for (const name of last.unreachable) {
        yield* Effect.logWarning(
          `The tool ${name} is not offered: another provider's prefix claims its name. Rename one of the prefixes.`
        )
      }
      return last.all
    })

    return {
      list,
      execute: (batch) => execute(mounted, batch),
      grants: Effect.suspend(() => snapshots(mounted)),
      probe: (invocation) => {
        const mount = route(mounted, invocation.name)
        if (mount?.provider.probe === undefined) return Effect.succeed(undefined)
        return mount.provider.probe(stripped(mount, invocation))
      },
      add: (mount) =>
        Effect.map(
          Effect.suspend(() => withMount(mounted, mount)),
          (next) => {
            mounted = next
          }
        ),
      remove: (prefix) =>
        Effect.sync(() => {
          const next = mounted.filter((mount) => mount.prefix !== prefix)
          const removed = next.length < mounted.length
          mounted = next
          return removed
        }),
      prefixes: Effect.sync(() => mounted.map((mount) => mount.prefix))
    }
  })

const alphabet = /^[A-Za-z0-9_-]+$/

const withMount = (
  mounted: ReadonlyArray<Mounted>,
  { prefix, separator = "_", provider }: Mount
): Effect.Effect<ReadonlyArray<Mounted>, BadPrefix> => {
  const tag = `${prefix}${separator}`
  if (!alphabet.test(prefix) || !alphabet.test(tag)) return Effect.fail(new BadPrefix({ prefix, problem: "alphabet" }))
  if (mounted.some((mount) => mount.prefix === prefix || mount.tag === tag)) {
    return Effect.fail(new BadPrefix({ prefix, problem: "taken" }))
  }
  return Effect.succeed([...mounted, { prefix, tag, provider }])
}

/** The mount with the longest tag that the name begins with (R1). */
const route = (mounted: ReadonlyArray<Mounted>, name: string): Mounted | undefined =>
  mounted
    .filter(({ tag }) => name.length > tag.length && name.startsWith(tag))
    .reduce<Mounted | undefined>(
      (best, each) => (best === undefined || each.tag.length > best.tag.length ? each : best),
      undefined
    )

const stripped = (mount: Mounted, invocation: Tool.Invocation): Tool.Invocation => ({
  ...invocation,
  name: invocation.name.slice(mount.tag.length)
})

const sameParts = (
  a: ReadonlyArray<ReadonlyArray<Tool.Declaration>>,
  b: ReadonlyArray<ReadonlyArray<Tool.Declaration>>
): boolean => a.length === b.length && a.every((part, i) => part === b[i])

const merge = (mounts: ReadonlyArray<Mounted>, parts: ReadonlyArray<ReadonlyArray<Tool.Declaration>>): Merged => {
  const named = mounts.flatMap((mount, i) =>
    (parts[i] ?? []).map((tool) => ({ mount, tool: { ...tool, name: `${mount.tag}${tool.name}` } }))
  )
  const reachable = named.filter(({ mount, tool }) => route(mounts, tool.name) === mount)
  const unreachable = named.filter(({ mount, tool }) => route(mounts, tool.name) !== mount).map(({ tool }) => tool.name)
  return { parts, mounts, all: reachable.map(({ tool }) => tool), unreachable }
}

type Answered = Tool.Answer | string | undefined

const execute = (
  mounted: ReadonlyArray<Mounted>,
  batch: ReadonlyArray<Tool.Invocation>
): Effect.Effect<ReadonlyArray<Answered>> =>
  Effect.gen(function* () {
    const routes = batch.map((invocation) => route(mounted, invocation.name))
    const shares = mounted
      .map((mount) => ({ mount, at: routes.flatMap((each, i) => (each === mount ? [i] : [])) }))
      .filter(({ at }) => at.length > 0)
    const answers = new Map<number, Answered>()
    yield* Effect.forEach(
      shares,
      ({ mount, at }) => {
        const calls = at.flatMap((i) => batch.slice(i, i + 1)).map((invocation) => stripped(mount, invocation))
        return Effect.map(share(mount, calls), (given) => at.forEach((i, nth) => answers.set(i, given[nth])))
      },
      { concurrency: "unbounded", discard: true }
    )
    return batch.map((invocation, i) => answers.get(i) ?? unanswered(mounted, routes[i], invocation))
  })

/** One provider's part; what it throws is the error of each of its calls. */
const share = (mount: Mounted, calls: ReadonlyArray<Tool.Invocation>): Effect.Effect<ReadonlyArray<Answered>> =>
  Effect.suspend(() => mount.provider.execute(calls)).pipe(
    Effect.catchDefect((defect) => {
      const why = defect instanceof Error ? defect.message : String(defect)
      return Effect.succeed(
        calls.map(() => Tool.failed(`The provider ${mount.prefix} broke while it ran this call: ${why}`))
      )
    })
  )

const unanswered = (
  mounted: ReadonlyArray<Mounted>,
  mount: Mounted | undefined,
  invocation: Tool.Invocation
): Tool.Answer => {
  if (mount !== undefined)
    return Tool.failed(`The provider ${mount.prefix} gave no answer to this call of ${invocation.name}.`)
  const tags = mounted.map(({ tag }) => tag).join(", ")
  return Tool.failed(
    `There is no tool ${JSON.stringify(invocation.name)}. ` +
      (tags === "" ? "No tools are offered." : `Names of tools begin with: ${tags}.`)
  )
}

const snapshots = (mounted: ReadonlyArray<Mounted>) =>
  Effect.map(
    Effect.forEach(mounted, ({ provider }) => provider.grants ?? Effect.succeed([])),
    (all) => all.flat()
  )
