/**
 * The command as one file, `dist/settle.mjs`: it runs anywhere with a Node of 22.19 or newer, without node_modules.
 * Packages with native parts stay outside and are asked for only by who configures them.
 */
import { chmodSync } from "node:fs"
import { join } from "node:path"
import { rolldown } from "rolldown"
import { inlineWeights } from "../packages/backends/assets/rolldown.mjs"
import { root } from "./check/lib.mjs"

const http = ["Agent", "ClientRequest", "IncomingMessage", "METHODS", "OutgoingMessage", "STATUS_CODES", "Server"]
http.push(
  "ServerResponse",
  "createServer",
  "get",
  "globalAgent",
  "request",
  "validateHeaderName",
  "validateHeaderValue"
)

/**
 * An import of `node:http` stands at the head of a bundle whoever needs it, and reads every export of the module: one of them loads
 * the whole of undici, a third of the start. Asked for like this it comes when its user is initialised.
 */
const lateHttp = () => ({
  name: "settle-late-http",
  resolveId: (id) => (id === "node:http" || id === "node:https" ? `\0late:${id}` : null),
  load: (id) =>
    id.startsWith("\0late:")
      ? `const found = process.getBuiltinModule("${id.slice(6)}")\nexport default found\nexport const { ${http.join(", ")} } = found\n`
      : null
})

const bundle = await rolldown({
  input: join(root, "packages/cli/src/main.ts"),
  cwd: root,
  platform: "node",
  external: [/^node-llama-cpp/, /^@node-llama-cpp\//, /^redis$/],
  plugins: [inlineWeights(), lateHttp()],
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
