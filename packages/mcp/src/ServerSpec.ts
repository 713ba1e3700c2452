/** One entry of `mcpServers`, in the shape that other hosts use, and what may be said about it in public. */
import type * as Duration from "effect/Duration"
import * as Redacted from "effect/Redacted"

/** Plain, or kept out of every text that leaves (X-SAFE-05). */
export type Value = string | Redacted.Redacted

export interface Common {
  /** From the start to a session. Default 20 seconds. */
  readonly connectTimeout?: Duration.Input
  /** For everything that is not a tool call: lists, reads, log level. Default 30 seconds. */
  readonly requestTimeout?: Duration.Input
  /** A call without progress for so long is given up; progress extends it. Default: none, the run's own deadline decides (M4). */
  readonly callSilence?: Duration.Input
  /** A call is given up after this, progress or not (M4). Default 1 hour. */
  readonly callCeiling?: Duration.Input
  /** Asked of a server that can log. Default: its own choice. */
  readonly logLevel?: "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency"
  /** Directories or `file:` URIs that the server may ask for. Default: none, and the server hears of no such ability. */
  readonly roots?: ReadonlyArray<string>
}

export interface Stdio extends Common {
  readonly command: string
  readonly args?: ReadonlyArray<string>
  /** Added to a short list of harmless variables (PATH, HOME, …); nothing else is inherited. */
  readonly env?: Readonly<Record<string, Value>>
  readonly cwd?: string
}

export interface Remote extends Common {
  readonly url: string
  readonly headers?: Readonly<Record<string, Value>>
  /** How to log in where the server wants it; without an entry the client registers itself and asks the user. */
  readonly auth?: Auth
}

export interface Auth {
  /** A client that was registered by hand. */
  readonly clientId?: string
  readonly clientSecret?: Value
  /** The login service that `clientId` was registered with; it is then shown to no other. */
  readonly issuer?: string
  /** Where a description of this client is published, for servers that take a URL as its id. */
  readonly clientMetadataUrl?: string
  /** Space-separated. Default: what the server asks for. */
  readonly scope?: string
  /** `client_credentials` needs nobody at the screen, and a `clientSecret`. Default `authorization_code`. */
  readonly grant?: "authorization_code" | "client_credentials"
  /** Where the login comes back to on this machine. Default 33418, or any free one when that is taken. */
  readonly redirectPort?: number
}

export type ServerSpec = Stdio | Remote

export const isStdio = (spec: ServerSpec): spec is Stdio => "command" in spec

export const plain = (value: Value): string => (typeof value === "string" ? value : Redacted.value(value))

const secretFlag = /(key|token|secret|password|passwd|auth|credential)/i

/** The command as a person would type it, with what looks like a secret left out (X-SAFE-05). */
export const shown = (spec: ServerSpec): string => {
  if (!isStdio(spec)) return shownUrl(spec.url)
  const words: Array<string> = [spec.command]
  let hide = false
  for (const word of spec.args ?? []) {
    const equals = word.indexOf("=")
    if (hide) words.push("[hidden]")
    else if (equals > 0 && secretFlag.test(word.slice(0, equals))) words.push(`${word.slice(0, equals)}=[hidden]`)
    else words.push(word.length > 120 ? `${word.slice(0, 120)}…` : word)
    hide = !hide && equals === -1 && word.startsWith("-") && secretFlag.test(word)
  }
  return words.join(" ")
}

/** A URL without its query, its fragment and its userinfo. */
export const shownUrl = (text: string): string => {
  const url = URL.parse(text)
  return url === null ? text : `${url.origin}${url.pathname}`
}

/** A function that removes the redacted values of this entry from a text that a server wrote. */
export const masker = (spec: ServerSpec): ((text: string) => string) => {
  const own = isStdio(spec) ? undefined : spec.auth?.clientSecret
  const values = [
    ...Object.values(isStdio(spec) ? (spec.env ?? {}) : (spec.headers ?? {})),
    ...(own === undefined ? [] : [own])
  ]
  const secrets = values.flatMap((value) => (typeof value === "string" ? [] : [Redacted.value(value)]))
  // a shorter value is no secret, and hiding every `1` would leave no text to read
  const real = secrets.filter((secret) => secret.length >= 6)
  return real.length === 0
    ? (text) => text
    : (text) => real.reduce((t, secret) => t.replaceAll(secret, "[hidden]"), text)
}
