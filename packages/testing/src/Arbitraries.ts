/**
 * Generators for property tests, on Effect's own `Schema` and `Arbitrary`. Texts hold what breaks things: names of the object
 * prototype, control characters; lone surrogates where a text may be anything.
 */
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as Json from "@settle/core/model/Json"
import * as Message from "@settle/core/model/Message"
import * as RunEvent from "@settle/core/model/RunEvent"
import type * as Tool from "@settle/core/model/Tool"
import { Usage } from "@settle/core/model/Usage"
import type * as History from "./History.ts"
import * as Script from "./Script.ts"

/** Any string, lone surrogates included. */
export const text: Arbitrary.Arbitrary<string> = Arbitrary.schema(Schema.String)

/** Well-formed Unicode. */
export const goodText: Arbitrary.Arbitrary<string> = Arbitrary.map(text, Json.wellFormed)

/** Names and ids as a hostile server would choose them. */
export const name: Arbitrary.Arbitrary<string> = Arbitrary.schema(
  Schema.Literals(["read", "write", "__proto__", "constructor", "toString", "hasOwnProperty", "a b", "日本"])
)

/** Whole milliseconds, up to about a day. */
export const millis: Arbitrary.Arbitrary<number> = Arbitrary.map(
  Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 90_000_000 }))),
  // A JSON text cannot hold -0.
  (n) => n + 0
)

/** 0 to 1. */
const share = Arbitrary.map(
  Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100 }))),
  (n) => n / 100
)

const jsonObject: Arbitrary.Arbitrary<Json.JsonObject> = Arbitrary.map(
  Arbitrary.all({ key: goodText, value: goodText }),
  ({ key, value }) => Object.fromEntries([[key, value]])
)

const flags = Arbitrary.schema(
  Schema.Struct({
    sticky: Schema.optionalKey(Schema.Literal(true)),
    sysprompt: Schema.optionalKey(Schema.Literal(true)),
    depth: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4 })))
  })
)

/** A system, user or assistant message of text alone. */
export const plainMessage: Arbitrary.Arbitrary<Message.Message> = Arbitrary.map(
  Arbitrary.all({
    role: Arbitrary.schema(Schema.Literals(["system", "user", "assistant"])),
    content: goodText,
    kept: flags
  }),
  ({ content, kept, role }) => ({ role, content, ...kept })
)

const say = Arbitrary.map(plainMessage, (message): History.Act => ({ _tag: "Say", message }))

const call = Arbitrary.map(
  Arbitrary.all({
    name,
    args: goodText,
    content: goodText,
    end: Arbitrary.schema(Schema.Literals(["completed", "failed", "outcome-unknown", "abandoned"]))
  }),
  ({ args, content, end, name: tool }): History.Act => ({
    _tag: "Call",
    name: tool,
    arguments: JSON.stringify({ args }),
    end,
    content
  })
)

const compact = Arbitrary.map(Arbitrary.all({ share, summary: goodText }), (given): History.Act => ({
  _tag: "Compact",
  ...given
}))
const elide = Arbitrary.map(Arbitrary.all({ share, stub: goodText }), (given): History.Act => ({
  _tag: "Elide",
  ...given
}))
const grants = Arbitrary.map(Arbitrary.array(jsonObject, { maxLength: 3 }), (given): History.Act => ({
  _tag: "Grants",
  grants: given
}))
const context = Arbitrary.map(Arbitrary.all({ digest: name, rendered: goodText }), (given): History.Act => ({
  _tag: "Context",
  ...given
}))
const custom = Arbitrary.map(
  Arbitrary.all({ name: Arbitrary.map(name, (n) => `host-${n}`), payload: jsonObject }),
  (given): History.Act => ({ _tag: "Custom", ...given })
)

/** Chooses one of these generators, more often those named more often. */
const oneOf = <A>(first: Arbitrary.Arbitrary<A>, ...rest: ReadonlyArray<Arbitrary.Arbitrary<A>>) => {
  const all = [first, ...rest]
  const index = Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: rest.length })))
  return Arbitrary.flatMap(index, (at) => all[at] ?? first)
}

/** What happens to one transcript, in order. */
export const history: Arbitrary.Arbitrary<ReadonlyArray<History.Act>> = Arbitrary.array(
  oneOf(say, say, call, call, compact, elide, grants, context, custom),
  { maxLength: 25 }
)

/** One turn with its answers, or a plain message. */
interface Stretch {
  readonly plain: Message.Message
  readonly calls: ReadonlyArray<{ readonly name: string; readonly args: string; readonly content: string }>
}

const stretches: Arbitrary.Arbitrary<ReadonlyArray<Stretch>> = Arbitrary.array(
  Arbitrary.all({
    plain: plainMessage,
    calls: Arbitrary.array(Arbitrary.all({ name, args: goodText, content: goodText }), { maxLength: 3 })
  }),
  { maxLength: 8 }
)

const messagesOf = (all: ReadonlyArray<Stretch>): ReadonlyArray<Message.Message> =>
  all.flatMap(({ calls, plain }, at) => {
    const made = calls.map((one, index) => Script.call(`c${at}-${index}`, one.name, JSON.stringify({ args: one.args })))
    const answers = calls.map((one, index) => Message.tool(`c${at}-${index}`, one.content))
    return [plain, ...(made.length === 0 ? [] : [Message.assistant(plain.content, made), ...answers])]
  })

/** Well-formed conversations: every call answered, no orphan. */
export const conversation: Arbitrary.Arbitrary<ReadonlyArray<Message.Message>> = Arbitrary.map(stretches, messagesOf)

/** Any message the schema allows, well formed or not. */
export const message: Arbitrary.Arbitrary<Message.Message> = Arbitrary.schema(Message.Message)

/** Calls of one turn as they are handed over, under ids of their own. */
export const batch: Arbitrary.Arbitrary<ReadonlyArray<Tool.Invocation>> = Arbitrary.map(
  Arbitrary.array(Arbitrary.all({ name, args: goodText }), { minLength: 1, maxLength: 6 }),
  (calls) =>
    calls.map((one, index) => ({
      callId: `call-${index}`,
      operationId: `op-${index}`,
      name: one.name,
      arguments: JSON.stringify({ args: one.args })
    }))
)

const step = (tools: ReadonlyArray<string>) =>
  Arbitrary.map(
    Arbitrary.all({
      content: goodText,
      pieces: Arbitrary.array(goodText, { maxLength: 3 }),
      usage: Arbitrary.schema(Schema.UndefinedOr(Schema.Struct({ totalTokens: Schema.Int }))),
      delay: millis,
      chosen: Arbitrary.array(share, { maxLength: tools.length === 0 ? 0 : 3 }),
      fails: Arbitrary.schema(Schema.Literals(["no", "no", "no", "cut", "500", "429"]))
    }),
    (given) => given
  )

/** Replies of a model that asks for these tools, is cut and refused at times, and ends with words. */
export const script = (tools: ReadonlyArray<string>): Arbitrary.Arbitrary<ReadonlyArray<Script.Step>> =>
  Arbitrary.map(Arbitrary.array(step(tools), { maxLength: 8 }), (steps) => [
    ...steps.map((given, at): Script.Step => {
      const chunks = given.pieces.filter((piece) => piece !== "")
      const shared: Script.Step = {
        ...(chunks.length === 0 ? {} : { chunks }),
        delay: given.delay % 5000,
        ...(given.usage === undefined ? {} : { usage: { totalTokens: Math.abs(given.usage.totalTokens) } })
      }
      if (given.fails === "cut") return { ...shared, cut: true }
      if (given.fails !== "no") return { ...shared, error: Script.http(Number(given.fails)) }
      const toolCalls = given.chosen.map((part, index) =>
        Script.call(`s${at}-${index}`, tools[Math.min(tools.length - 1, Math.floor(part * tools.length))] ?? "", {})
      )
      // A reply of nothing is a failure of its own kind; here every reply says or asks for something.
      if (toolCalls.length > 0 || chunks.join("").trim() !== "") return { ...shared, toolCalls }
      return { ...shared, chunks: ["…"] }
    }),
    Script.say("That is all.")
  ])

/** Any event, stamped. */
export const event: Arbitrary.Arbitrary<RunEvent.RunEvent> = Arbitrary.map(
  Arbitrary.all({ draft: Arbitrary.schema(RunEvent.Draft), runId: text, ts: millis, seq: millis }),
  ({ draft, ...stamp }) => ({ ...draft, ...stamp })
)

/** Any bill, absent numbers absent. */
export const usage: Arbitrary.Arbitrary<Usage> = Arbitrary.schema(Usage)
