/**
 * `npm run conformance [SCENARIO…]`: the client scenarios of the protocol's own conformance suite, against our client. One line for
 * each; fails when one fails that is not listed below with its reason, and when one that is listed passes.
 */
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const suite = fileURLToPath(new URL("../node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url))
const client = fileURLToPath(new URL("../packages/mcp/conformance/client.ts", import.meta.url))

/** What we do not do, and why. */
const exceptions = new Map([
  [
    "auth/client-credentials-jwt",
    "an extension: a login by a signed assertion needs a key file, which the configuration has no word for"
  ],
  [
    "auth/cross-app-access-complete-flow",
    "an extension: tokens exchanged through a company's identity provider are not supported"
  ]
])

const limitMs = 60_000

const run = (args, cwd) =>
  new Promise((resolve) => {
    const child = spawn(process.execPath, ["--disable-warning=DEP0190", suite, ...args], {
      cwd,
      stdio: ["ignore", "pipe", "pipe"]
    })
    let text = ""
    child.stdout.on("data", (chunk) => (text += chunk))
    child.stderr.on("data", (chunk) => (text += chunk))
    child.on("close", (code) => resolve({ code, text }))
  })

const scenarios = async (cwd) => {
  const { text } = await run(["list", "--client"], cwd)
  const all = text.includes("Client scenarios") ? text.slice(text.indexOf("Client scenarios")) : text
  return [...all.matchAll(/^ {2}- (\S+)/gm)].map(([, name]) => name)
}

const main = async () => {
  const cwd = mkdtempSync(join(tmpdir(), "settle-conformance-"))
  try {
    const wanted = process.argv.slice(2)
    const names = wanted.length > 0 ? wanted : await scenarios(cwd)
    if (names.length === 0) throw new Error("the suite lists no client scenario: has its command changed?")
    const command = `"${process.execPath}" -C source "${client}"`
    const unexpected = []
    for (const name of names) {
      const { code, text } = await run(
        ["client", "--command", command, "--scenario", name, "--timeout", String(limitMs)],
        cwd
      )
      const counts = /Passed: (\d+)\/(\d+), (\d+) failed, (\d+) warnings/.exec(text)
      const passed = code === 0 && counts !== null && counts[3] === "0"
      const reason = exceptions.get(name)
      const checks = counts === null ? "no result" : `${counts[1]}/${counts[2]} checks, ${counts[4]} warnings`
      const word = passed
        ? reason === undefined
          ? "pass"
          : "PASS, and is listed as an exception"
        : reason === undefined
          ? "FAIL"
          : "left out"
      console.log(
        `${word.padEnd(8)} ${name.padEnd(42)} ${checks}${reason === undefined || passed ? "" : `  (${reason})`}`
      )
      if (passed === (reason !== undefined)) {
        unexpected.push(name)
        console.log(text.split("\n").slice(-60).join("\n"))
      }
    }
    const left = names.filter((name) => exceptions.has(name)).length
    console.log(
      `\n${names.length} scenarios: ${names.length - left - unexpected.length} as expected, ${left} left out, ${unexpected.length} unexpected`
    )
    if (unexpected.length > 0) process.exitCode = 1
  } finally {
    rmSync(cwd, { recursive: true, force: true })
  }
}

await main()
