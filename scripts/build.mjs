/**
 * The command as one file, `dist/settle.mjs`: it runs anywhere with a Node of 22.19 or newer, without node_modules.
 * Packages with native parts stay outside and are asked for only by who configures them.
 */
import { chmodSync } from "node:fs"
import { join } from "node:path"
import { rolldown } from "rolldown"
import { inlineWeights } from "../packages/backends/assets/rolldown.mjs"
import { root } from "./check/lib.mjs"

const bundle = await rolldown({
  input: join(root, "packages/cli/src/main.ts"),
  cwd: root,
  platform: "node",
  external: [/^node-llama-cpp/, /^@node-llama-cpp\//, /^redis$/],
  plugins: [inlineWeights()],
  resolve: { conditionNames: ["source", "import", "node", "default"] },
  // Circles inside dependencies are theirs; ours fail the layering check.
  onLog: (level, log, handle) => (log.code === "CIRCULAR_DEPENDENCY" ? undefined : handle(level, log))
})
const file = join(root, "dist/settle.mjs")
// Names stay, so that a stack trace can be read.
const minify = { compress: true, mangle: false, codegen: true }
const { output } = await bundle.write({ file, format: "esm", codeSplitting: false, minify })
await bundle.close()
chmodSync(file, 0o755)
console.log(`dist/settle.mjs: ${(output[0].code.length / 1_048_576).toFixed(2)} MiB`)
