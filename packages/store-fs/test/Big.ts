/** A long transcript of short memory: every hundred messages a compaction replaces them. */
import * as fs from "node:fs"
import * as Scratch from "./Scratch.ts"

const megabyte = 1024 * 1024

/** Writes about `bytes`; `oversized` adds one line of so many bytes in the middle. Answers its line number, or 0. */
export const write = (file: string, bytes: number, oversized = 0): number => {
  const fd = fs.openSync(file, "w")
  const content = `long ${"text é ".repeat(8000)}`
  let [written, line, at] = [0, 0, 0]
  const put = (text: string) => {
    written += fs.writeSync(fd, `${text}\n`)
    line++
  }
  put(Scratch.header)
  for (let i = 0; written < bytes; i++) {
    put(Scratch.message(`m${i}`, i % 2 === 0 ? "user" : "assistant", content))
    if (i % 100 === 99)
      put(Scratch.record("compaction", `c${i}`, { summary: `s${i}`, replacesThroughId: `m${i}`, fallback: false }))
    if (oversized > 0 && at === 0 && written > bytes / 2) {
      at = line + 1
      fs.writeSync(fd, '{"v":1,"type":"message","id":"big","ts":"t","payload":{"role":"user","content":"')
      for (let done = 0; done < oversized; done += megabyte) fs.writeSync(fd, "x".repeat(megabyte))
      put('"}}')
    }
  }
  put(Scratch.message("last", "user", "the end"))
  fs.closeSync(fd)
  return at
}
