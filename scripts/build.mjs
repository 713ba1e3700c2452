/**
 * The command as one file, `dist/settle.mjs`: it runs anywhere with a Node of 22.19 or newer, without node_modules.
 * Packages with native parts stay outside and are asked for only by who configures them.
 */
import { chmodSync } from "node:fs"
import { join } from "node:path"
import { rolldown } from "rolldown"
import { root } from "./check/lib.mjs"

const external = [/^node-llama-cpp/, /^@node-llama-cpp\//, /^redis$/]

const bundle = await rolldown({
  input: join(root, "packages/cli/src/main.ts"),
  cwd: root,
  platform: "node",
  external,
  resolve: { conditionNames: ["source", "import", "node", "default"] },
  // `effect` marks its modules pure; its own circles are types only.
  onLog: (level, log, handle) => (log.code === "CIRCULAR_DEPENDENCY" ? undefined : handle(level, log))
})
const file = join(root, "dist/settle.mjs")
const { output } = await bundle.write({ file, format: "esm", codeSplitting: false, banner: "#!/usr/bin/env node" })
await bundle.close()
chmodSync(file, 0o755)
console.log(`dist/settle.mjs: ${(output[0].code.length / 1_048_576).toFixed(2)} MiB`)
