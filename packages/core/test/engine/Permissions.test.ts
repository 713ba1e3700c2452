/** Permission in a run: when somebody is asked, what a cancel or a crash makes of a question, and what of an answer is left. */
import { readdirSync, readFileSync } from "node:fs"
import type * as Json from "@settle/core/model/Json"
import * as Message from "@settle/core/model/Message"
import * as Replay from "@settle/core/model/Replay"
import type * as Asker from "@settle/core/port/Asker"
import * as MemoryTranscript from "@settle/core/standard/MemoryTranscript"
import * as Grants from "@settle/core/tools/Grants"
import * as Policy from "@settle/core/tools/Policy"
import type * as Rules from "@settle/core/tools/Rules"
import { FaultyTranscript, Recorder, Script, Tools } from "@settle/testing"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { TestClock } from "effect/testing"
import * as Story from "./Story.ts"

const call = Script.call
const read: Rules.Rule = { tool: "read", decision: "allow" }
const once = { action: "allow-once" }
const always = { action: "always-allow" }

/** Somebody who answers everything alike, and whom one can watch. */
const person = (answer: Effect.Effect<Json.JsonObject>) => {
  const asked: Array<Json.JsonObject> = []
  const first = Deferred.makeUnsafe<void>()
  const asker: Asker.Asker = {
    ask: (request) =>
      Effect.suspend(() => {
        asked.push(request)
        return Effect.andThen(Deferred.succeed(first, undefined), answer)
      })
  }
  return { asked, asker, wasAsked: Deferred.await(first) }
}

const entries = () => [Tools.tool("read", Tools.echo), Tools.tool("write", Tools.echo)]

/** One process: tools behind a policy. */
const process = Effect.fnUntraced(function* (
  given: Pick<Policy.Options, "asker"> & { readonly tools?: Tools.Tools; readonly restored?: unknown }
) {
  const tools = given.tools ?? Tools.make(entries())
  const grants = yield* Grants.make(given.restored)
  const provider = yield* Policy.make({
    provider: tools.provider,
    rules: [read],
    grants,
    ...(given.asker === undefined ? {} : { asker: given.asker })
  })
  return { tools, grants, provider }
})

const reopen = (memory: MemoryTranscript.MemoryTranscript) =>
  Effect.flatMap(memory.lines, (lines) => MemoryTranscript.make({ lines }))

const typesOf = (memory: MemoryTranscript.MemoryTranscript) => Effect.map(memory.lines, Story.lineTypes)

describe("permission in a run", () => {
  it.effect("L-TOOL-08 the question for call 3 is put after calls 1 and 2 have run", () =>
    Effect.gen(function* () {
      const tools = Tools.make(entries())
      const ends: Array<string> = []
      const { asker } = person(
        Effect.sync(() => (ends.push(...tools.ran.map(({ callId, end }) => `${callId} ${end}`)), once))
      )
      const { provider } = yield* process({ tools, asker })
      const told = yield* Story.tell({
        script: [Script.callTools(call("1", "read"), call("2", "read"), call("3", "write")), Script.say("ok")],
        tools,
        provider
      })
      assert.deepStrictEqual(ends, ["1 answered", "2 answered"])
      assert.deepStrictEqual(
        tools.ran.map(({ callId }) => callId),
        ["1", "2", "3"]
      )
      const tags = told.tags
      assert.isTrue(tags.indexOf("AskPending") > tags.indexOf("ToolResult"))
    })
  )

  it.effect("L-CONC-12 the questions of a group are put up front, and those allowed run as one batch", () =>
    Effect.gen(function* () {
      const tools = Tools.make(entries())
      const ranWhenAsked: Array<number> = []
      const answers = [once, { action: "deny-once", message: "not this one" }, once]
      const { asked, asker } = person(
        Effect.sync(() => {
          ranWhenAsked.push(tools.ran.length)
          return answers[ranWhenAsked.length - 1] ?? {}
        })
      )
      const { provider } = yield* process({ tools, asker })
      const told = yield* Story.tell({
        script: [Script.callTools(call("1", "write"), call("2", "write"), call("3", "write")), Script.say("ok")],
        tools,
        provider,
        transcript: true,
        settings: { concurrentTools: ["write"] }
      })
      assert.deepStrictEqual(ranWhenAsked, [0, 0, 0])
      assert.deepStrictEqual(
        asked.map((request) => request["callId"]),
        ["1", "2", "3"]
      )
      assert.deepStrictEqual(
        tools.batches.map((batch) => batch.map(({ callId }) => callId)),
        [["1", "3"]]
      )
      assert.deepStrictEqual(
        Recorder.all(told.recording, "ToolResult").map((event) => [event.id, event.isError]),
        [
          ["1", false],
          ["2", true],
          ["3", false]
        ]
      )
      assert.strictEqual(
        told.outcome.messages.find((message) => message.toolCallId === "2")?.content,
        'Permission denied for "write"; the call was not run. The person who was asked said no: not this one'
      )
    })
  )

  it.effect(
    "M15 P1 with nobody there a call that needs permission is denied with its reason, and the run goes on",
    () =>
      Effect.gen(function* () {
        const { provider, tools } = yield* process({})
        const told = yield* Story.tell({
          script: [Script.callTools(call("1", "write"), call("2", "read")), Script.say("ok")],
          tools,
          provider,
          transcript: true
        })
        assert.strictEqual(told.outcome.final, "ok")
        assert.deepStrictEqual(
          tools.ran.map(({ callId }) => callId),
          ["2"]
        )
        assert.notInclude(told.tags, "AskPending")
        assert.deepStrictEqual(
          told.outcome.messages.filter(({ role }) => role === "tool").map(({ content }) => content),
          [
            'Permission denied for "write"; the call was not run. It needs somebody\'s permission (no rule speaks about it), and nobody is there to be asked.',
            "{}"
          ]
        )
      })
  )

  it.effect("T8 a run cancelled with the question open hands nothing over, whatever is answered", () =>
    Effect.gen(function* () {
      const answer = yield* Deferred.make<Json.JsonObject>()
      const { asker, wasAsked } = person(Deferred.await(answer))
      const { grants, provider, tools } = yield* process({ asker })
      const on = yield* Story.stage({
        script: [Script.callTools(call("1", "write"), call("2", "write")), Script.say("never")],
        tools,
        provider,
        transcript: true,
        settings: { concurrentTools: ["write"] }
      })
      const told = yield* Story.play(on, undefined, {
        meanwhile: (run) =>
          Effect.gen(function* () {
            yield* wasAsked
            yield* run.cancel
            yield* Deferred.succeed(answer, always)
          })
      })
      assert.strictEqual(told.outcome.outcome, "cancelled")
      assert.deepStrictEqual(tools.ran, [])
      assert.deepStrictEqual(yield* grants.current, [])
      assert.strictEqual(told.tags.filter((tag) => tag === "AskPending").length, 1)
      // What is known not to have run is not recorded as unknown.
      assert.deepStrictEqual(
        told.outcome.messages.filter(({ role }) => role === "tool").map(({ content }) => content),
        ["1", "2"].map(
          () =>
            'Permission denied for "write"; the call was not run. The run was cancelled, or gave it up, before it was handed over.'
        )
      )
    })
  )

  it.effect("P2 L-GRANT-03 an always survives a kill before the call returns; what is revoked stays revoked", () =>
    Effect.gen(function* () {
      const memory = yield* MemoryTranscript.make()
      // user, assistant, dispatched, grants; the answer of the call never reaches the record
      const faulty = yield* FaultyTranscript.make(memory, FaultyTranscript.crash(4, "lost"))
      const first = person(Effect.succeed(always))
      const dead = yield* process({ asker: first.asker })
      const on = yield* Story.doomed({
        script: [Script.callTools(call("1", "write")), Script.say("never")],
        provider: dead.provider,
        transcript: faulty.transcript
      })
      yield* on.loop.run(Story.ask())
      yield* faulty.crashed
      assert.deepStrictEqual((yield* typesOf(memory)).slice(-2), ["tool-dispatched", "grants"])

      const second = yield* reopen(memory)
      const record = yield* second.replay
      const silent = person(Effect.never)
      const resumed = yield* process({ asker: silent.asker, restored: record.grants })
      const stage = yield* Story.stage({
        script: [Script.say("ok"), Script.say("revoked"), Script.callTools(call("2", "write")), Script.say("denied")],
        provider: resumed.provider,
        transcript: second
      })
      const told = yield* Story.play(stage, Replay.messages(record), { resumeToolCalls: ["1"] })
      assert.strictEqual(told.outcome.final, "ok")
      assert.deepStrictEqual(silent.asked, [])
      assert.deepStrictEqual(
        resumed.tools.ran.map(({ callId }) => callId),
        ["1"]
      )

      // Revoked between runs: the next run records it though it makes no call.
      assert.strictEqual(yield* resumed.grants.revoke(() => true), 1)
      yield* Story.play(stage, [...told.outcome.messages, Message.user("hello")])
      const third = yield* reopen(second)
      const left = yield* third.replay
      assert.deepStrictEqual(left.grants, [])

      const later = person(Effect.succeed({ action: "deny-once" }))
      const last = yield* process({ asker: later.asker, restored: left.grants })
      const again = yield* Story.tell(
        {
          script: [Script.callTools(call("3", "write")), Script.say("no")],
          provider: last.provider,
          transcript: third
        },
        [...Replay.messages(left), Message.user("once more")]
      )
      assert.strictEqual(again.outcome.final, "no")
      assert.deepStrictEqual(
        later.asked.map((request) => request["callId"]),
        ["3"]
      )
      assert.deepStrictEqual(last.tools.ran, [])
    })
  )

  const places = [0, 1, 2, 3, 4, 5, 6].flatMap((at) =>
    (["landed", "lost", "torn"] as const).map((how) => ({ at, how }))
  )
  it.effect.each(places)(
    "P2 L-GRANT-03 killed at line $at, $how: no call ran before its always was recorded",
    ({ at, how }) =>
      Effect.gen(function* () {
        const memory = yield* MemoryTranscript.make()
        const faulty = yield* FaultyTranscript.make(memory, FaultyTranscript.crash(at, how))
        const dead = yield* process({ asker: person(Effect.succeed(always)).asker })
        const on = yield* Story.doomed({
          script: [Script.callTools(call("1", "write")), Script.say("ok")],
          provider: dead.provider,
          transcript: faulty.transcript
        })
        yield* on.loop.run(Story.ask())
        yield* faulty.crashed

        const second = yield* reopen(memory)
        const record = yield* second.replay
        const isRecorded = (record.grants ?? []).length > 0
        if (dead.tools.ran.length > 0) assert.isTrue(isRecorded)
        const messages = Replay.messages(record)
        const isOpen = messages.at(-1)?.role === "assistant" && messages.at(-1)?.toolCalls !== undefined
        const again = person(Effect.succeed({ action: "deny-once" }))
        const resumed = yield* process({ asker: again.asker, restored: record.grants })
        const stage = yield* Story.stage({
          script: isOpen ? [Script.say("ok")] : [Script.callTools(call("2", "write")), Script.say("ok")],
          provider: resumed.provider,
          transcript: second
        })
        const told = isOpen
          ? yield* Story.play(stage, messages, { resumeToolCalls: ["1"] })
          : yield* Story.play(stage, [...messages, Message.user("go on")])
        assert.strictEqual(told.outcome.final, "ok")
        assert.strictEqual(again.asked.length, isRecorded ? 0 : 1)
        assert.strictEqual(resumed.tools.ran.length, isRecorded ? 1 : 0)
      })
  )

  it.effect("P3 a restart while a question is open puts it again, for the same call, and the call runs once", () =>
    Effect.gen(function* () {
      const memory = yield* MemoryTranscript.make()
      const first = person(Effect.never)
      const dead = yield* process({ asker: first.asker })
      const on = yield* Story.doomed({
        script: [Script.callTools(call("1", "write", { n: 1 }))],
        provider: dead.provider,
        transcript: memory
      })
      yield* on.loop.run(Story.ask())
      yield* first.wasAsked

      const second = yield* reopen(memory)
      const record = yield* second.replay
      const again = person(
        Effect.suspend(() => Effect.succeed({ ...once, callId: "1", digest: first.asked[0]?.["digest"] ?? "" }))
      )
      const resumed = yield* process({ asker: again.asker, restored: record.grants })
      const stage = yield* Story.stage({ script: [Script.say("ok")], provider: resumed.provider, transcript: second })
      const told = yield* Story.play(stage, Replay.messages(record), { resumeToolCalls: ["1"] })
      assert.strictEqual(told.outcome.final, "ok")
      assert.deepStrictEqual(again.asked, first.asked)
      assert.deepStrictEqual(dead.tools.ran, [])
      assert.deepStrictEqual(
        resumed.tools.ran.map(({ callId }) => callId),
        ["1"]
      )
    })
  )

  it.effect(
    "T8 a call that its run gave up while it waited for its turn to be asked about is not asked about, nor run",
    () =>
      Effect.gen(function* () {
        const answer = yield* Deferred.make<Json.JsonObject>()
        const { asked, asker, wasAsked } = person(Deferred.await(answer))
        const { provider, tools } = yield* process({ asker })
        const waiting = yield* Story.stage({
          script: [Script.callTools(call("a", "write", { n: 1 })), Script.say("one")],
          tools,
          provider
        })
        const hasty = yield* Story.stage({
          script: [Script.callTools(call("b", "write", { n: 2 })), Script.say("two")],
          tools,
          provider,
          settings: { toolDeadline: "2 seconds" }
        })
        const first = yield* waiting.loop.run(Story.ask())
        yield* wasAsked
        const second = yield* hasty.loop.run(Story.ask())
        while ((yield* second.isDone) === false) yield* TestClock.adjust("1 second")
        const outcome = yield* second.outcome
        assert.strictEqual(outcome.final, "two")
        yield* Deferred.succeed(answer, once)
        assert.strictEqual((yield* first.result).final, "one")
        yield* second.drained
        assert.deepStrictEqual(
          asked.map((request) => request["callId"]),
          ["a"]
        )
        assert.deepStrictEqual(
          tools.ran.map(({ callId }) => callId),
          ["a"]
        )
      })
  )

  it.effect("L-DL-11 L-SHIM-06 an hour in front of a question costs the call no deadline", () =>
    Effect.gen(function* () {
      const tools = Tools.make([Tools.tool("write", Tools.after("1 second", Tools.echo))])
      const answer = yield* Deferred.make<Json.JsonObject>()
      const { asker, wasAsked } = person(Deferred.await(answer))
      const { provider } = yield* process({ tools, asker })
      const on = yield* Story.stage({
        script: [Script.callTools(call("1", "write")), Script.say("ok")],
        tools,
        provider,
        settings: { toolDeadline: "2 seconds" }
      })
      const told = yield* Story.play(on, undefined, {
        meanwhile: () =>
          Effect.gen(function* () {
            yield* wasAsked
            yield* TestClock.adjust("1 hour")
            yield* Deferred.succeed(answer, once)
            yield* tools.began(0)
            yield* TestClock.adjust("1 second")
          })
      })
      assert.strictEqual(told.outcome.final, "ok")
      assert.notInclude(told.tags, "ToolAbandoned")
      const [pending] = Recorder.all(told.recording, "AskPending")
      assert.strictEqual(pending?.tool, "write")
      assert.deepStrictEqual(
        Recorder.all(told.recording, "AskAnswered").map((event) => event.answer),
        [once]
      )
    })
  )

  it("L-GEN-05 nothing below an agent knows of a policy", () => {
    for (const folder of ["engine", "port", "decide", "model"]) {
      const path = new URL(`../../src/${folder}/`, import.meta.url)
      const files = readdirSync(path).filter((name) => name.endsWith(".ts"))
      assert.isAbove(files.length, 5)
      for (const file of files) {
        assert.notMatch(readFileSync(new URL(file, path), "utf8"), /from "[^"]*\/tools\//, `${folder}/${file}`)
      }
    }
  })
})
