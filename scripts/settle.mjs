#!/usr/bin/env node
/** `npx settle …` inside the clone: the command from its sources, on the Node of the lock file, installing what is missing. */
import { fileURLToPath } from "node:url"
import { install, run } from "./go.mjs"

const main = fileURLToPath(new URL("../packages/cli/src/main.ts", import.meta.url))

install()
process.exitCode = run(
  ["--disable-warning=ExperimentalWarning", "-C", "source", main, ...process.argv.slice(2)],
  process.cwd()
)
