/** The tools that the model was trained on, and which offered tool stands for each of them. */
import * as Json from "@settle/core/model/Json"

export type Argument = "path" | "pattern" | "content" | "expression"

export interface Known {
  /** As trained. */
  readonly name: string
  readonly arguments: ReadonlyArray<Argument>
  /** What it does, for a sentence that begins "Here I can". */
  readonly does: string
  /** Its path is a folder's. */
  readonly folders: boolean
}

/** An offered tool and the JSON schema of its arguments. */
export interface Offer {
  readonly name: string
  readonly parameters: Json.JsonObject
}

const prefix = "files_"

export const search = `${prefix}search_files`

export const known: ReadonlyArray<Known> = [
  { name: `${prefix}list_directory`, arguments: ["path"], does: "list folders", folders: true },
  { name: `${prefix}read_text_file`, arguments: ["path"], does: "read files", folders: false },
  { name: search, arguments: ["path", "pattern"], does: "find files", folders: true },
  { name: `${prefix}write_file`, arguments: ["path", "content"], does: "write files", folders: false },
  { name: `${prefix}get_file_info`, arguments: ["path"], does: "describe files", folders: false },
  { name: "calculator", arguments: ["expression"], does: "do sums", folders: false },
  { name: "clock", arguments: [], does: "tell the time", folders: false }
]

const fits = (tool: Known, { name, parameters }: Offer): boolean => {
  const { properties, required } = parameters
  if (!Json.isObject(properties)) return name === tool.name
  const isText = (key: string): boolean => {
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined
    return Json.isObject(property) && property["type"] === "string"
  }
  const wanted: ReadonlyArray<Json.Json> = Array.isArray(required) ? required : []
  return tool.arguments.every(isText) && wanted.every((key) => tool.arguments.some((argument) => argument === key))
}

/**
 * The offered tool for each known one: of the same name, or of the same name under another prefix, with the same arguments as
 * strings and no other required one. Every other tool is never chosen: the model would not know what to fill it with.
 */
export const offered = (offers: ReadonlyArray<Offer>): ReadonlyMap<Known, string> => {
  const out = new Map<Known, string>()
  for (const tool of known) {
    const base = tool.name.startsWith(prefix) ? tool.name.slice(prefix.length) : tool.name
    const alike = new RegExp(`(^|[_.-])${base}$`)
    const hit =
      offers.find((offer) => offer.name === tool.name && fits(tool, offer)) ??
      offers.find((offer) => alike.test(offer.name) && fits(tool, offer))
    if (hit !== undefined) out.set(tool, hit.name)
  }
  return out
}
