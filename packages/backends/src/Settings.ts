/** Checks of what a backend over HTTP is configured with, each with its remedy. Nothing here prints a secret. */
import * as Refusal from "@settle/core/model/Refusal"
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"

type Checked<A> = Result.Result<A, Refusal.Refusal>

export type Headers = Readonly<Record<string, string | Redacted.Redacted<string>>>

export const refuse = (setting: string, problem: string, remedy: string): Result.Result<never, Refusal.Refusal> =>
  Result.fail(Refusal.refuse(new Refusal.InvalidSetting({ setting, problem, remedy })))

/** An http address without credentials in it. */
export const address = (baseUrl: string, example: string): Checked<URL> => {
  const url = URL.parse(baseUrl)
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
    return refuse("baseUrl", "it is not an http or https address", `Write it like "${example}"`)
  }
  if (url.username !== "" || url.password !== "") {
    return refuse("baseUrl", "it holds credentials", "Give the key as apiKey, or a header of its own")
  }
  url.hash = ""
  return Result.succeed(url)
}

// eslint-disable-next-line no-control-regex
const unsendable = /[^\t\x20-\x7e\x80-\xff]/
const headerNames = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/

/** `undefined` when there is none. `keyName`: where a user would put it. */
export const key = (given: Redacted.Redacted<string> | undefined, keyName: string): Checked<string | undefined> => {
  const value = given === undefined ? "" : Redacted.value(given).trim()
  if (!unsendable.test(value)) return Result.succeed(value === "" ? undefined : value)
  return refuse(keyName, "the API key holds characters that cannot be sent", "Copy it again, without line breaks")
}

/** The headers of every request, names in lower case; the configured ones win. */
export const headers = (
  own: ReadonlyArray<readonly [string, string]>,
  configured: Headers
): Checked<Record<string, string>> => {
  const all = new Map(own)
  for (const [name, value] of Object.entries(configured)) {
    const plain = Redacted.isRedacted(value) ? Redacted.value(value) : value
    if (!headerNames.test(name)) {
      return refuse("headers", `"${name}" is no header name`, "Use letters, digits and dashes")
    }
    if (unsendable.test(plain)) {
      return refuse(`headers.${name}`, "its value cannot be sent", "Remove line breaks from it")
    }
    all.set(name.toLowerCase(), plain)
  }
  return Result.succeed(Object.fromEntries(all))
}

/** What must never show: the key and every header that is `Redacted`. */
export const secrets = (key: string | undefined, configured: Headers): ReadonlyArray<string> => [
  ...(key === undefined ? [] : [key]),
  ...Object.values(configured)
    .filter((value) => Redacted.isRedacted(value))
    .map((value) => Redacted.value(value))
]

export const duration = (setting: string, given: Duration.Input): Checked<Duration.Duration> => {
  const value = Option.getOrUndefined(Duration.fromInput(given))
  return value !== undefined && Duration.toMillis(value) > 0 && Number.isFinite(Duration.toMillis(value))
    ? Result.succeed(value)
    : refuse(setting, `${String(given)} is not a duration above zero`, `Write it like "60 seconds"`)
}

/** A duration, or for ever. */
export const patience = (setting: string, given: Duration.Input): Checked<Duration.Duration> => {
  const value = Option.getOrUndefined(Duration.fromInput(given))
  return value !== undefined && !Duration.isFinite(value) && Duration.isGreaterThan(value, Duration.zero)
    ? Result.succeed(value)
    : duration(setting, given)
}

export const size = (setting: string, given: number | undefined, fallback: number): Checked<number> => {
  const value = given ?? fallback
  return Number.isInteger(value) && value > 0
    ? Result.succeed(value)
    : refuse(setting, `${value} is not a whole number above zero`, `Leave it out for ${fallback}`)
}
