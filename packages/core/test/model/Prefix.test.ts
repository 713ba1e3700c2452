import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as Prefix from "../../src/model/Prefix.ts"

interface Item {
  readonly weight: number
}

const item = (weight: number): Item => ({ weight })

/** A fold that counts its steps. */
const counting = () => {
  let steps = 0
  const fold = Prefix.fold(0, (before: number, { weight }: Item) => {
    steps++
    return before * 31 + weight
  })
  return { fold, steps: () => steps }
}

const plainly = (items: ReadonlyArray<Item>, count = items.length) =>
  items.slice(0, count).reduce((before, { weight }) => before * 31 + weight, 0)

describe("Prefix", () => {
  it.prop(
    "L-CAL-02 whatever grows, shrinks or is replaced, the answer is that of a plain fold",
    {
      acts: Arbitrary.schema(
        Schema.Array(
          Schema.Tuple([
            Schema.Literals(["push", "ask", "pop", "another"]),
            Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 }))
          ])
        )
      )
    },
    ({ acts }) => {
      const { fold } = counting()
      let items: Array<Item> = []
      for (const [act, n] of acts) {
        if (act === "push") items.push(item(n))
        if (act === "pop") items.pop()
        if (act === "another") items = [...items, item(n)]
        assert.strictEqual(fold(items), plainly(items))
        assert.strictEqual(fold(items, n), plainly(items, n))
      }
    }
  )

  it("L-CTX-08 what was visited is not visited again, at any length that was asked before", () => {
    const { fold, steps } = counting()
    const items = Array.from({ length: 1000 }, (_, n) => item(n))
    fold(items)
    assert.strictEqual(steps(), 1000)
    items.push(item(1), item(2))
    for (const count of [1002, 1000, 500, 1, 0]) assert.strictEqual(fold(items, count), plainly(items, count))
    assert.strictEqual(steps(), 1002)
  })

  it("L-CAL-02 an item that was replaced where it is asked for begins anew", () => {
    const { fold, steps } = counting()
    const items = [item(1), item(2), item(3)]
    fold(items)
    items[2] = item(4)
    assert.strictEqual(fold(items), plainly(items))
    assert.strictEqual(steps(), 6)
  })
})
