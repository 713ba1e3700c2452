/** The program in README.md is `examples/01-hello.ts`, word for word. */
import { read } from "./lib.mjs"

const fenced = /<!-- from (examples\/[\w.-]+) -->\n```ts\n([\s\S]*?)```/g

export const check = () => {
  const shown = [...read("README.md").matchAll(fenced)]
  if (shown.length === 0) return ["README.md shows no program: mark one with <!-- from examples/… -->"]
  return shown
    .filter(([, path, program]) => !read(path).includes(program.trim()))
    .map(([, path]) => `README.md shows a program that is not in ${path}: copy it from there`)
}
