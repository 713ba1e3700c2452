/**
 * Runs every example and compares what it prints with the `// =>` lines of its file, in order. `npm run examples -- 03` runs one.
 */
import { globSync, readFileSync } from "node:fs"
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const wanted = process.argv.slice(2)
const all = globSync("examples/*.ts", { cwd: root }).sort()
const chosen = all.filter((path) => wanted.length === 0 || wanted.some((one) => path.includes(`/${one}`)))

const promised = (path) => [...readFileSync(path, "utf8").matchAll(/^\/\/ => (.*)$/gm)].map((match) => match[1])

const run = (path) => {
  const done = spawnSync(process.execPath, ["--disable-warning=ExperimentalWarning", "-C", "source", path], {
    cwd: root,
    encoding: "utf8",
    timeout: 60_000
  })
  const printed = done.stdout.trimEnd().split("\n")
  const expected = promised(path)
  const differs = expected.length === 0 || printed.join("\n") !== expected.join("\n")
  if (done.status === 0 && !differs) return true
  console.log(`FAILED ${path} (exit ${done.status ?? done.signal})`)
  console.log(`  promised:\n${expected.map((line) => `    ${line}`).join("\n")}`)
  console.log(`  printed:\n${printed.map((line) => `    ${line}`).join("\n")}`)
  if (done.stderr !== "") console.log(done.stderr)
  return false
}

const failed = chosen.filter((path) => {
  const good = run(path)
  if (good) console.log(`ok     ${path}`)
  return !good
})
if (chosen.length === 0) console.log("no example was found")
console.log(`${chosen.length - failed.length} examples passed, ${failed.length} failed`)
process.exitCode = failed.length === 0 && chosen.length > 0 ? 0 : 1
