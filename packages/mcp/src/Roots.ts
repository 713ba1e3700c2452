/** The directories that a server may know of: those of the configuration, and no others. */
import { basename } from "node:path"
import { pathToFileURL } from "node:url"
import type { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { ListRootsRequestSchema } from "@modelcontextprotocol/sdk/types.js"

/** Must be installed before the connection is made. */
export const install = (sdk: Client, roots: ReadonlyArray<string>): void => {
  sdk.setRequestHandler(ListRootsRequestSchema, () => ({ roots: roots.map(root) }))
}

const root = (given: string): { uri: string; name: string } => {
  const uri = given.startsWith("file:") ? given : pathToFileURL(given).href
  return { uri, name: basename(new URL(uri).pathname) || "/" }
}
