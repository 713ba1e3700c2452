/**
 * Runs one task of this repository from a fresh clone: `node scripts/go.mjs <task> [arguments]`.
 *
 * G1. Needs Node 20 and npm, nothing else: what is missing is installed first, from the lock file.
 * G2. The task runs on the Node of the lock file, found by its path and put first in PATH for whatever the task starts.
 *     (A shell keeps the place of a command it has looked up, so `install && node …` would go on with the old one.)
 * G3. Ends with the task's own exit code.
 */
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { delimiter, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const modules = join(root, "node_modules")
const bin = join(modules, ".bin")
export const node = join(bin, process.platform === "win32" ? "node.cmd" : "node")

const vitest = ["node_modules/vitest/vitest.mjs", "run", "--config", "vitest.workspace.ts"]
const source = ["--disable-warning=ExperimentalWarning", "-C", "source"]

/** Each task: the arguments of Node for each of its steps; what was typed after the task goes to the last one. */
const tasks = {
  // Two at a time: much of it is processes starting and clocks that really pass.
  test: [[...vitest, "--maxWorkers", "2"]],
  "test:slow": [[...vitest, "--mode", "slow"]],
  check: [["scripts/check.mjs"]],
  "check:selftest": [["scripts/check.selftest.mjs"]],
  trace: [["scripts/trace.mjs"]],
  barrels: [["scripts/barrels.mjs"]],
  format: [["node_modules/prettier/bin/prettier.cjs", "--write", ".", "--log-level", "warn"]],
  examples: [["scripts/examples.mjs"]],
  bench: [[...source, "bench/run.ts"]],
  build: [["scripts/build.mjs"]],
  demo: [["scripts/settle.mjs", "demo"]],
  settle: [["scripts/settle.mjs"]],
  conformance: [["scripts/conformance.mjs"]],
  node: [[]]
}

const lockDigest = () =>
  createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .digest("hex")

const modified = (path) => (existsSync(path) ? statSync(path).mtimeMs : 0)

/** Installed means: by us from this very lock file, or by npm after it was last written. */
const isInstalled = () => {
  if (!existsSync(node)) return false
  const stamp = join(modules, ".settle-lock")
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === lockDigest()) return true
  return modified(join(modules, ".package-lock.json")) >= modified(join(root, "package-lock.json"))
}

export const install = () => {
  if (isInstalled()) return
  console.error("installing the dependencies (npm ci), this happens once …")
  const npm = process.env.npm_execpath
  const args = ["ci", "--include=dev", "--no-audit", "--no-fund"]
  const options = { cwd: root, stdio: ["ignore", "inherit", "inherit"] }
  const done =
    npm === undefined
      ? spawnSync("npm", args, { ...options, shell: process.platform === "win32" })
      : spawnSync(process.execPath, [npm, ...args], options)
  if (done.status !== 0) {
    console.error("npm ci failed, see above. It needs the registry that package-lock.json names; then run this again.")
    process.exit(done.status ?? 1)
  }
  writeFileSync(join(modules, ".settle-lock"), lockDigest())
  // So that `node dist/settle.mjs` is there too. Where it cannot be built, the sources are run and the checks will say why.
  if (run(["scripts/build.mjs"]) !== 0) console.error("dist/settle.mjs could not be built; `npm run build` tries again")
}

/** Runs the locked Node and answers its exit code; a signal that ended it counts as the shell counts it. */
export const run = (args, cwd = root) => {
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH ?? ""}` }
  const done = spawnSync(node, args, { cwd, env, stdio: "inherit", shell: process.platform === "win32" })
  if (done.error !== undefined) throw done.error
  return done.status ?? (done.signal === "SIGINT" ? 130 : 1)
}

const main = ([task, ...rest]) => {
  const steps = tasks[task]
  if (steps === undefined) {
    console.error(`unknown task: ${task ?? "none"}. There are: ${Object.keys(tasks).join(", ")}`)
    return 2
  }
  install()
  for (const [index, step] of steps.entries()) {
    const code = run(index === steps.length - 1 ? [...step, ...rest] : step)
    if (code !== 0) return code
  }
  return 0
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = main(process.argv.slice(2))
