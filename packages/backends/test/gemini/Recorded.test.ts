import { assert, it } from "@effect/vitest"
import * as Facts from "../Facts.ts"
import * as Reading from "./Reading.ts"

Facts.suite({ protocol: "gemini", atLeast: 5, read: Reading.read, ended: /"finishReason"/ }, (file) => {
  it(`F9 ${file.file} keeps every signature`, () => {
    const body = file.body.toString("utf8")
    const secrets = [...body.matchAll(/"thoughtSignature":\s*"([^"]+)"/g)].map(([, secret]) => secret ?? "unmatched")
    const kept = JSON.stringify(Reading.reply(Reading.read([file.body])).replay?.data ?? null)
    for (const secret of secrets) assert.include(kept, secret)
  })
})
