import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as CompletionBus from "../../src/port/CompletionBus.ts"
import * as Bus from "../../src/standard/Bus.ts"

const work = (operationId: string): Bus.Work => ({ operationId, kind: "task" })
const report = (body: string): Bus.Report => ({ kind: "task", body })

describe("Bus", () => {
  it.effect("opens up to its capacity, once for each key", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make({ maxOutstanding: 2 })
      assert.deepStrictEqual(yield* bus.open(work("a")), { ok: true, outstanding: 1, max: 2 })
      assert.deepStrictEqual(yield* bus.open(work("a")), { ok: false, outstanding: 1, max: 2, reason: "duplicate" })
      yield* bus.open({ operationId: "__proto__", kind: "task", label: "l", meta: { m: 1 } })
      assert.deepStrictEqual(yield* bus.open(work("c")), { ok: false, outstanding: 2, max: 2, reason: "at-capacity" })
      assert.deepStrictEqual(yield* bus.outstanding, [
        { operationId: "a", kind: "task", meta: {} },
        { operationId: "__proto__", kind: "task", label: "l", meta: { m: 1 } }
      ])
      assert.isTrue(yield* bus.settle("__proto__"))
    })
  )

  it.effect("B1 B3 settles a key once and queues its report in the same step, in order", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make()
      for (const id of ["a", "b"]) yield* bus.open(work(id))
      assert.isTrue(yield* bus.settle("b", { report: report("second opened, first done") }))
      assert.isTrue(yield* bus.push({ kind: "note", head: "h", extras: { from: "host" } }))
      assert.isTrue(yield* bus.settle("a", { report: report("a") }))
      assert.isFalse(yield* bus.settle("a", { report: report("again") }))
      assert.isFalse(yield* bus.settle("never", { report: report("x") }))
      assert.deepStrictEqual(yield* bus.state, { outstanding: 0, queued: 3 })
      assert.deepStrictEqual(yield* bus.drain, [
        { kind: "task", seq: 1, head: "", body: "second opened, first done", tail: "", extras: {}, operationId: "b" },
        { kind: "note", seq: 2, head: "h", body: "", tail: "", extras: { from: "host" } },
        { kind: "task", seq: 3, head: "", body: "a", tail: "", extras: {}, operationId: "a" }
      ])
      assert.deepStrictEqual(yield* bus.drain, [])
    })
  )

  it.effect("B2 a collected report is withdrawn, also after its key closed", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make()
      for (const id of ["a", "b"]) yield* bus.open(work(id))
      yield* bus.settle("a", { report: report("a") })
      assert.isFalse(yield* bus.settle("a", { collected: true }), "it was closed before")
      assert.isTrue(yield* bus.settle("b", { report: report("b"), collected: true }))
      assert.deepStrictEqual(yield* bus.state, { outstanding: 0, queued: 0 })
    })
  )

  it.effect("refuses a report without a kind or without text, and closes the key all the same", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make()
      yield* bus.open(work("a"))
      assert.isTrue(yield* bus.settle("a", { report: { kind: "task" } }))
      assert.isFalse(yield* bus.push({ kind: " ", body: "x" }))
      assert.deepStrictEqual(yield* bus.state, { outstanding: 0, queued: 0 })
      yield* bus.push({ kind: "task", body: "\ud800" })
      assert.strictEqual((yield* bus.drain)[0]?.body, "\ufffd")
    })
  )

  it.effect("closeAll closes in open order and leaves the queue; clear empties both", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make()
      for (const id of ["b", "a"]) yield* bus.open(work(id))
      yield* bus.push(report("x"))
      assert.deepStrictEqual(
        (yield* bus.closeAll).map((one) => one.operationId),
        ["b", "a"]
      )
      assert.deepStrictEqual(yield* bus.state, { outstanding: 0, queued: 1 })
      yield* bus.open(work("c"))
      yield* bus.clear
      assert.deepStrictEqual(yield* bus.state, { outstanding: 0, queued: 0 })
    })
  )

  it.effect("L-PARK-12 a change wakes everybody who waits, and every change can be waited for", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make()
      const acts: ReadonlyArray<Effect.Effect<unknown>> = [
        bus.open(work("a")),
        bus.settle("a", { report: report("a") }),
        bus.drain,
        bus.push(report("b")),
        bus.open(work("c")),
        bus.closeAll,
        bus.clear
      ]
      for (const act of acts) {
        const waiting = yield* Effect.forEach([1, 2], () => Effect.forkChild(bus.changed, { startImmediately: true }))
        assert.isTrue(waiting.every((fiber) => fiber.pollUnsafe() === undefined))
        yield* act
        yield* Fiber.joinAll(waiting)
      }
    })
  )

  it.effect("L-PARK-12 an interrupted waiter costs nobody their wake-up", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.make()
      const [gone, stays] = [
        yield* Effect.forkChild(bus.changed, { startImmediately: true }),
        yield* Effect.forkChild(bus.changed, { startImmediately: true })
      ]
      yield* Fiber.interrupt(gone)
      yield* bus.push(report("x"))
      yield* Fiber.join(stays)
    })
  )

  const Move = Schema.Union([
    Schema.Struct({ act: Schema.Literals(["open", "settle", "collect"]), id: Schema.Literals(["a", "b", "c"]) }),
    Schema.Struct({ act: Schema.Literals(["drain", "closeAll"]), id: Schema.Literal("a") })
  ])

  it.effect.prop(
    "B1 B2 B3 each opened key gives at most one report, in the order of settling",
    { moves: Arbitrary.array(Arbitrary.schema(Move)) },
    ({ moves }) =>
      Effect.gen(function* () {
        const bus = yield* Bus.make()
        const due: Array<string> = []
        const got: Array<string> = []
        for (const [index, { act, id }] of moves.entries()) {
          if (act === "open") yield* bus.open(work(id))
          if (act === "settle" && (yield* bus.settle(id, { report: report(`${id}${index}`) })))
            due.push(`${id}${index}`)
          if (act === "collect") {
            yield* bus.settle(id, { collected: true })
            for (let i = due.length - 1; i >= got.length; i--) if (due[i]?.startsWith(id)) due.splice(i, 1)
          }
          if (act === "drain") got.push(...(yield* bus.drain).map((one) => one.body))
          if (act === "closeAll") yield* bus.closeAll
        }
        got.push(...(yield* bus.drain).map((one) => one.body))
        assert.deepStrictEqual(got, due)
      })
  )

  it.effect("refuses a capacity below one, in words", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Bus.make({ maxOutstanding: 0 }))
      assert.strictEqual(error.message, "maxOutstanding: 0 is not a whole number of at least 1. Leave it out for 16")
    })
  )

  it.effect("the layer gives producers and the loop the same bus", () =>
    Effect.gen(function* () {
      const bus = yield* Bus.Bus
      const port = yield* CompletionBus.CompletionBus
      yield* bus.push(report("x"))
      assert.deepStrictEqual(yield* port.state, { outstanding: 0, queued: 1 })
    }).pipe(Effect.provide(Bus.layer()))
  )
})
