/**
 * The rule that "always" would mean for one call, unless whoever answers names another. Pure and total.
 *
 * G1. It holds for the call it was made from, and for as little else as one rule can say: folder, host and program together.
 * G2. Where something of the call could not be read, nothing is suggested: a rule without it would be wider than what was seen.
 */
import * as Commands from "./Commands.ts"
import * as Hosts from "./Hosts.ts"
import * as Paths from "./Paths.ts"
import type * as Rules from "./Rules.ts"

/** A rule without its decision. */
export type Narrowed = Omit<Rules.Rule, "decision">

export const make = (call: Rules.Facts): Narrowed | undefined => {
  // A star would make a pattern of a name.
  if (call.tool.includes("*") || call.tool.trim() === "") return undefined
  const parts = [under(call), host(call), command(call)]
  return parts.includes(undefined) ? undefined : Object.assign({ tool: call.tool }, ...parts)
}

type Part = Omit<Narrowed, "tool">

/** Never above the root, and never the root of the file system. */
const under = ({ paths, root }: Rules.Facts): Part | undefined => {
  if (paths.length === 0) return {}
  const known = paths.filter((path) => path !== undefined)
  const shared = Paths.common(known)
  if (known.length < paths.length || shared === undefined) return undefined
  if (root !== undefined && shared.length < root.length && Paths.contains(shared, root) === "yes") {
    return known.every((path) => Paths.contains(root, path) === "yes") ? { under: Paths.render(root) } : undefined
  }
  return shared.length === 0 ? undefined : { under: Paths.render(shared) }
}

const host = ({ arguments: args }: Rules.Facts): Part | undefined => {
  if (!Object.hasOwn(args, "url")) return {}
  const found = Hosts.of(args)
  return found === undefined ? undefined : { host: found }
}

/** One program and the arguments it was given, where there is but one and all of it was read. */
const command = ({ arguments: args, commands, ground, tool }: Rules.Facts): Part | undefined => {
  const names = Paths.paramsOf(ground.commandParams ?? [], tool) ?? Commands.defaults
  if (!names.some((name) => Object.hasOwn(args, name))) return {}
  const [only, ...others] = commands.commands.filter(({ transparent }) => !transparent)
  if (only === undefined || others.length > 0 || !commands.complete || only.altered) return undefined
  const { program } = only
  if (![program, ...only.args].every(({ literal }) => literal)) return undefined
  if (program.text.includes("*") || program.text.trim() === "") return undefined
  const words = only.args.map(({ text }) => text)
  return words.length === 0 ? { command: program.text } : { command: program.text, args: words }
}
