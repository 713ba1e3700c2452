#!/usr/bin/env node
/**
 * `npx settle …` inside the clone, installing what is missing: the one-file build where it is newer than the sources, else the
 * sources themselves. `node dist/settle.mjs …` is the same command without this file.
 */
import { existsSync, readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { install, run } from "./go.mjs"

const root = fileURLToPath(new URL("..", import.meta.url))
const built = join(root, "dist/settle.mjs")

const newest = (folder) =>
  Math.max(
    0,
    ...readdirSync(folder, { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile())
      .map((entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs)
  )

const isCurrent = () =>
  existsSync(built) &&
  readdirSync(join(root, "packages")).every(
    (name) => newest(join(root, "packages", name, "src")) < statSync(built).mtimeMs
  )

install()
// Compiling the one file is most of a start: the second one finds it compiled.
process.env.NODE_COMPILE_CACHE ??= join(root, "node_modules/.cache/settle")
const source = ["--disable-warning=ExperimentalWarning", "-C", "source", join(root, "packages/cli/src/main.ts")]
process.exitCode = run([...(isCurrent() ? [built] : source), ...process.argv.slice(2)], process.cwd())
