import { describe, it } from "@effect/vitest"
import * as Race from "./Race.ts"

describe("Lock", () => {
  it.live("J5 X-STORE-01 ten processes race for one pen, each dies with it: no two ever hold it", () =>
    Race.run({ processes: 10, turns: 10 })
  )
})
