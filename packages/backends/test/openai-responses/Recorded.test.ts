import { assert, it } from "@effect/vitest"
import * as Facts from "../Facts.ts"
import * as Reading from "./Reading.ts"

Facts.suite(
  {
    protocol: "openai-responses",
    atLeast: 7,
    read: Reading.read,
    ended: /response\.(completed|incomplete|failed)"|"type":"error"/
  },
  (file) => {
    it(`F9 ${file.file} keeps the reasoning that must go back, as it came last`, () => {
      if (file.outcome !== "complete") return
      const body = file.body.toString("utf8")
      const secrets = [...body.matchAll(/"encrypted_content":"([^"]{40,})"/g)].map(
        ([, secret]) => secret ?? "unmatched"
      )
      const kept = JSON.stringify(Reading.reply(Reading.read([file.body])).replay?.data ?? null)
      for (const secret of secrets.slice(-1)) assert.include(kept, secret)
    })
  }
)
