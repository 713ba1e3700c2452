import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as Admission from "../../src/model/Admission.ts"

const inputs = Arbitrary.array(
  Arbitrary.map(
    Arbitrary.all({
      tag: Arbitrary.schema(Schema.Literals(["Start", "Result", "Drained"])),
      runId: Arbitrary.schema(Schema.Literals(["a", "b"]))
    }),
    ({ runId, tag }): Admission.Input => ({ _tag: tag, runId })
  ),
  { maxLength: 20 }
)

const start = (runId: string): Admission.Input => ({ _tag: "Start", runId })
const result = (runId: string): Admission.Input => ({ _tag: "Result", runId })
const drained = (runId: string): Admission.Input => ({ _tag: "Drained", runId })
const after = (...given: ReadonlyArray<Admission.Input>): Admission.Admission =>
  given.reduce<Admission.Admission>((self, input) => Admission.step(self, input) ?? self, Admission.idle)

describe("Admission", () => {
  it("L-RUN-02 a second run is not admitted while one is live", () => {
    assert.isUndefined(Admission.step(after(start("a")), start("b")))
    assert.isUndefined(Admission.step(after(start("a")), start("a")))
  })

  it("L-RUN-03 nor while its detached work runs: the door opens at drained, not at result", () => {
    const draining = after(start("a"), result("a"))
    assert.deepStrictEqual(draining, { _tag: "Draining", runId: "a" })
    assert.isUndefined(Admission.step(draining, start("b")))
  })

  it("L-RUN-04 result comes before drained", () => {
    assert.isUndefined(Admission.step(after(start("a")), drained("a")))
  })

  it("L-RUN-07 after drained the next run is admitted", () => {
    const next = after(start("a"), result("a"), drained("a"), start("b"))
    assert.deepStrictEqual(next, { _tag: "Live", runId: "b" })
  })

  it("word of another run changes nothing (A2)", () => {
    assert.isUndefined(Admission.step(after(start("a")), result("b")))
    assert.isUndefined(Admission.step(after(start("a"), result("a")), drained("b")))
    for (const input of [result("a"), drained("a")]) assert.isUndefined(Admission.step(Admission.idle, input))
  })

  it.prop(
    "L-RUN-02 L-RUN-03 admits a run only when the last one is drained, in any order of words (A1)",
    { given: inputs },
    ({ given }) => {
      let state: Admission.Admission = Admission.idle
      let open: { readonly runId: string; readonly hasResult: boolean } | undefined
      for (const input of given) {
        const next = Admission.step(state, input)
        const isTaken =
          input._tag === "Start"
            ? open === undefined
            : open?.runId === input.runId && open.hasResult === (input._tag === "Drained")
        assert.strictEqual(next !== undefined, isTaken)
        if (next === undefined) continue
        state = next
        if (input._tag === "Start") open = { runId: input.runId, hasResult: false }
        if (input._tag === "Result") open = { runId: input.runId, hasResult: true }
        if (input._tag === "Drained") open = undefined
      }
    }
  )
})
