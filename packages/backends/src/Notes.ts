/** What a schema cannot say to a provider, said in its description. Pure. */
import type * as Json from "@settle/core/model/Json"

/** The description with notes behind it; `undefined` when there is neither. */
export const description = (given: Json.Json | undefined, notes: ReadonlyArray<string>): string | undefined => {
  const texts = [...(typeof given === "string" ? [given] : []), ...(notes.length > 0 ? [`(${notes.join("; ")})`] : [])]
  return texts.length === 0 ? undefined : texts.join(" ")
}
