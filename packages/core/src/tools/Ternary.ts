/** What a predicate knows about a call: yes, no, or that it could not read it. Pure; the order is no, unknown, yes. */

export type Ternary = "yes" | "no" | "unknown"

/** The least certain of all; of nothing, `yes`. */
export const every = (items: Iterable<Ternary>): Ternary => {
  let least: Ternary = "yes"
  for (const item of items) {
    if (item === "no") return "no"
    if (item === "unknown") least = "unknown"
  }
  return least
}

/** The most certain of all; of nothing, `no`. */
export const some = (items: Iterable<Ternary>): Ternary => {
  let most: Ternary = "no"
  for (const item of items) {
    if (item === "yes") return "yes"
    if (item === "unknown") most = "unknown"
  }
  return most
}

/** Equal text is equal; text that only a file system or a shell without regard to case would take for it cannot be told. */
export const equal = (a: string, b: string): Ternary => (a === b ? "yes" : fold(a) === fold(b) ? "unknown" : "no")

/** What case and composition aside is left of a text. */
export const fold = (text: string): string => text.normalize("NFC").toLowerCase()
