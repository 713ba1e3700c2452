/** The same with a transcript on disk, handed to the system and not synced. */
import * as FsTranscript from "@settle/store-fs/FsTranscript"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Contestant } from "../measure.ts"
import * as Settle from "./settle.ts"

export const load = (baseUrl: string): Promise<Contestant> => {
  const folder = mkdtempSync(join(tmpdir(), "settle-bench-"))
  let runs = 0
  const next = () => FsTranscript.layer({ path: join(folder, `${runs++}.jsonl`), durability: "flush" })
  const contestant = Settle.make(baseUrl, next)
  return Promise.resolve({ ...contestant, close: async () => rmSync(folder, { recursive: true }) })
}
