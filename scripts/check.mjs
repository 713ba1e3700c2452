/**
 * Everything about the sources that can be checked without running them. Each step answers its problems; all steps run, the end
 * says which failed. `--only types,format` runs some.
 */
import * as Barrels from "./barrels.mjs"
import { capture, files, npx } from "./check/lib.mjs"
import * as Readme from "./check/readme.mjs"
import * as Sources from "./check/sources.mjs"
import * as Unused from "./check/unused.mjs"
import { trace } from "./trace.mjs"

const node = process.execPath
const lines = ({ code, output }) => (code === 0 ? [] : [output === "" ? `exit code ${code}` : output])

/** A tool that saw nothing found nothing; that is a failure of the check, not a clean tree. */
const saw = (result, pattern, least) => {
  const count = Number(pattern.exec(result.output)?.[1] ?? 0)
  return count >= least ? lines(result) : [`looked at ${count} files, ${least} expected:\n${result.output}`]
}

const sourceCount = () => files("packages/*/src/**/*.ts").length

const steps = {
  types: () => lines(capture(node, ["node_modules/typescript/bin/tsc", "-b", "--pretty", "false"])),
  effect: () =>
    saw(
      npx(
        ["@effect/tsgo@0.45.0"],
        ["effect-tsgo", "diagnostics", "--project", "tsconfig.json", "--strict", "--format", "text"]
      ),
      /Checked (\d+) files/,
      sourceCount()
    ),
  layering: () =>
    saw(
      npx(
        ["dependency-cruiser@17.4.3", "typescript@5.9.3"],
        ["depcruise", ...files("packages/*/src"), "--config", ".dependency-cruiser.cjs", "--output-type", "err-long"]
      ),
      /(\d+) modules/,
      sourceCount()
    ),
  sources: Sources.check,
  unused: () => [...Unused.check(), ...lines(npx(["knip@6.44.2", "typescript@5.9.3"], ["knip", "--no-progress"]))],
  format: () =>
    lines(capture(node, ["node_modules/prettier/bin/prettier.cjs", "--check", ".", "--cache", "--log-level", "warn"])),
  barrels: Barrels.check,
  readme: Readme.check,
  trace: () => trace().problems
}

const only = process.argv[process.argv.indexOf("--only") + 1]?.split(",")
const chosen = process.argv.includes("--only") ? only : Object.keys(steps)
const failed = []
for (const name of chosen) {
  const step = steps[name]
  if (step === undefined) {
    console.error(`no check is called ${name}. There are: ${Object.keys(steps).join(", ")}`)
    process.exit(2)
  }
  const started = performance.now()
  const problems = step()
  console.log(
    `${problems.length === 0 ? "ok    " : "FAILED"} ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`
  )
  for (const problem of problems) console.log(problem.replace(/^/gm, "       "))
  if (problems.length > 0) failed.push(name)
}
if (chosen.length > 1) console.log(`\n${Sources.largest()}\n${trace().summary}`)
console.log(failed.length === 0 ? `check passed: ${chosen.join(", ")}` : `check failed: ${failed.join(", ")}`)
process.exitCode = failed.length === 0 ? 0 : 1
