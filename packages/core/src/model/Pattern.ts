/** Tool-name patterns: an exact name, or a prefix with a trailing `*`. Nothing else is a glob here (L-CONC-01, L-EXEMPT-01). */
export type Pattern = string

export const matches = (pattern: Pattern, tool: string): boolean =>
  pattern.endsWith("*") ? tool.startsWith(pattern.slice(0, -1)) : pattern === tool

export const matchesAny = (patterns: ReadonlyArray<Pattern>, tool: string): boolean =>
  patterns.some((pattern) => matches(pattern, tool))

/** Why a value cannot be a pattern, or `undefined` when it can. A rule object where a string belongs is named (L-CONC-13). */
export const fault = (value: unknown): string | undefined => {
  if (typeof value !== "string") return `a pattern is a string, not ${value === null ? "null" : typeof value}`
  if (value.trim() === "") return "a pattern is not blank"
  const star = value.indexOf("*")
  return star >= 0 && star !== value.length - 1 ? `"${value}": a "*" may only stand at the end` : undefined
}
