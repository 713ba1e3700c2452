// A rolldown (or rollup) plugin for one-file bundles: it puts the weights of the built-in model into the bundle, so that the file
// runs wherever it is copied to. Without it the bundle looks for `demonstration.gguf` beside itself.
import { readFileSync } from "node:fs"

export const inlineWeights = () => ({
  name: "settle-inline-weights",
  load(id) {
    if (!/[\\/]embedded[\\/]Inline\.[jt]s$/.test(id)) return null
    const weights = readFileSync(new URL("./demonstration.gguf", import.meta.url))
    return { code: `export const base64 = "${weights.toString("base64")}"\n`, moduleType: "js" }
  }
})
