/**
 * Whom a call would reach over HTTP, read from its `url`. Pure and total.
 *
 * H1. Only what every reader of URLs reads alike is read: `http` or `https`, no user before the host, plain ASCII, no escapes. All
 *     else is `undefined`: unreadable.
 * H2. The port is dropped, and so is a dot at the end; letters are small, numeric addresses have one form.
 */
import * as Json from "../model/Json.ts"
import * as Ternary from "./Ternary.ts"

const shape = /^https?:\/\/((?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d*)?)(?:[/?#]|$)/i

/** The host of a URL; `undefined` when it cannot be told. */
export const parse = (url: unknown): string | undefined => {
  // White space and control characters are dropped by some readers and end the text for others.
  if (typeof url !== "string" || /[\s\\\p{Cc}]/u.test(url)) return undefined
  const authority = shape.exec(url)?.[1]
  if (authority === undefined || !URL.canParse(`http://${authority}`)) return undefined
  const host = new URL(`http://${authority}`).hostname.replace(/\.$/, "")
  return host === "" || host.endsWith(".") ? undefined : host
}

/** Why a text is no pattern of hosts, or `undefined` when it is: a host, or `*.` and one. */
export const fault = (pattern: string): string | undefined =>
  named(pattern) === undefined ? `"${pattern}": a host is a name or an address, or "*." and a name` : undefined

const named = (pattern: string): string | undefined => {
  const name = pattern.startsWith("*.") ? pattern.slice(2) : pattern
  if (/[/?#]/.test(name)) return undefined
  if (name.startsWith("[")) return name.endsWith("]") ? parse(`http://${name}/`) : undefined
  const colons = name.split(":").length - 1
  // One colon is a port, which would be dropped in silence; more are an address.
  return colons === 1 ? undefined : parse(`http://${colons > 1 ? `[${name}]` : name}/`)
}

/** `*.host` is every name below the host and not the host itself. */
export const matches = (pattern: string, args: Json.JsonObject): Ternary.Ternary => {
  const host = of(args)
  const wanted = named(pattern)
  if (host === undefined || wanted === undefined) return "unknown"
  const found = pattern.startsWith("*.") ? host.endsWith(`.${wanted}`) : host === wanted
  return found ? "yes" : "no"
}

/** The host that the arguments of a call name. */
export const of = (args: Json.JsonObject): string | undefined =>
  Object.hasOwn(args, "url") ? parse(args["url"]) : undefined
