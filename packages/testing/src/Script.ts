/**
 * A backend that plays a script, and remembers what it was sent.
 *
 * S1. Each request consumes one step, in order. A request too many is a defect that says so.
 * S2. A request is kept as a deep copy, taken when the stream is first pulled: what grows afterwards does not show.
 * S3. One read of a step is one pull of the stream, with all its chunks in one array.
 */
import type * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type * as Json from "@settle/core/model/Json"
import type * as Message from "@settle/core/model/Message"
import type * as Tool from "@settle/core/model/Tool"
import type { Usage } from "@settle/core/model/Usage"
import * as Backend from "@settle/core/port/Backend"

/** A request as it was sent. */
export interface Recorded {
  readonly messages: ReadonlyArray<Message.Message>
  readonly revision: number
  readonly head: Message.Message | undefined
  readonly tail: Message.Message | undefined
  readonly tools: ReadonlyArray<Tool.Declaration>
  readonly schema: Backend.Request["schema"]
  readonly maxTokens: number | undefined
}

/** What one read brings: a text, one chunk, or several. */
export type Read = string | Backend.Chunk | Arr.NonEmptyReadonlyArray<Backend.Chunk>

/** One reply, or the failure in its place. */
export interface Step {
  /** Streamed in one read, unless `chunks` says how. Default: the joined texts of `chunks`. */
  readonly content?: string
  readonly chunks?: ReadonlyArray<Read>
  readonly reasoning?: string
  readonly toolCalls?: ReadonlyArray<Message.ToolCall>
  readonly partialCalls?: ReadonlyArray<Message.ToolCall>
  /** Default `tool-calls` with calls, else `stop`. */
  readonly finish?: Backend.Finish
  readonly finishReason?: string
  readonly usage?: Usage
  readonly modelUsed?: string
  readonly replay?: Message.Replay
  readonly warnings?: ReadonlyArray<string>
  /** Before the first read. */
  readonly delay?: Duration.Input
  /** Before each further read, the end included. */
  readonly chunkDelay?: Duration.Input
  /** How many reads come before `error`, `cut`, `stall` or `defect`. Default: all of them. */
  readonly failAfterChunks?: number
  readonly error?: Backend.Reason
  /** The body stops without an end. */
  readonly cut?: boolean
  /** Nothing comes any more, ever. */
  readonly stall?: boolean
  readonly defect?: unknown
}

/** A step, or a function that makes it from the request it answers; `index` counts requests from 0. */
export type Entry = Step | ((request: Recorded, index: number) => Step)

export interface Options {
  /** Default `scripted`. */
  readonly model?: string
  readonly maxTokens?: number
  /** Default true. */
  readonly canConstrain?: boolean
  /** Answers every request after the last step. Default: a defect. */
  readonly then?: Entry
}

export interface Script {
  readonly backend: Backend.Backend
  /** What it was sent so far, in order. */
  readonly requests: ReadonlyArray<Recorded>
  /** Bodies that were left before their end: cancelled requests (B2). */
  readonly cancels: number
  /** Steps not yet played. */
  readonly left: number
  /** Completes when request `index`, from 0, has arrived. */
  readonly arrived: (index: number) => Effect.Effect<Recorded>
}

/** A reply of text alone. */
export const say = (content: string, more: Omit<Step, "content"> = {}): Step => ({ ...more, content })

/** A reply of calls. */
export const callTools = (...toolCalls: ReadonlyArray<Message.ToolCall>): Step => ({ toolCalls })

/** A failed send. */
export const failWith = (error: Backend.Reason, more: Omit<Step, "error"> = {}): Step => ({ ...more, error })

/** A call with arguments as text or as a value. */
export const call = (id: string, name: string, args: Json.Json = {}): Message.ToolCall => ({
  id,
  name,
  arguments: typeof args === "string" ? args : JSON.stringify(args)
})

/** HTTP refusals for `error`. */
export const http = (status: number, detail = `status ${status}`, retryAfterMs?: number): Backend.Refused =>
  new Backend.Refused({
    status,
    detail,
    inStream: false,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs })
  })

export const make = (entries: ReadonlyArray<Entry>, options: Options = {}): Script => {
  const requests: Array<Recorded> = []
  const waiting = new Map<number, Deferred.Deferred<Recorded>>()
  let cancels = 0

  const take = (request: Backend.Request): Step => {
    const index = requests.length
    const recorded = copy(request)
    requests.push(recorded)
    const waiter = waiting.get(index)
    if (waiter !== undefined) Deferred.doneUnsafe(waiter, Effect.succeed(recorded))
    const entry = entries[index] ?? options.then
    if (entry === undefined) {
      return { defect: new Error(`the script has ${entries.length} steps and no answer to request ${index + 1}`) }
    }
    return typeof entry === "function" ? entry(recorded, index) : entry
  }

  return {
    requests,
    get cancels() {
      return cancels
    },
    get left() {
      return Math.max(0, entries.length - requests.length)
    },
    arrived: (index) =>
      Effect.suspend(() => {
        const already = requests[index]
        if (already !== undefined) return Effect.succeed(already)
        const waiter = waiting.get(index) ?? Deferred.makeUnsafe<Recorded>()
        waiting.set(index, waiter)
        return Deferred.await(waiter)
      }),
    backend: {
      model: options.model ?? "scripted",
      maxTokens: options.maxTokens,
      canConstrain: options.canConstrain ?? true,
      stream: (request) =>
        Stream.unwrap(
          play(
            () => take(request),
            () => void cancels++
          )
        )
    }
  }
}

/** The chain of these scripts, in order. */
export const layer = (...chain: ReadonlyArray<Script>): Layer.Layer<Backend.Backends> =>
  Layer.succeed(Backend.Backends, { chain: chain.map((script) => script.backend) })

const copy = (request: Backend.Request): Recorded =>
  structuredClone({
    messages: request.conversation.messages,
    revision: request.conversation.revision,
    head: request.head,
    tail: request.tail,
    tools: request.tools,
    schema: request.schema,
    maxTokens: request.maxTokens
  })

type Chunks = Arr.NonEmptyReadonlyArray<Backend.Chunk>
type Pull = Effect.Effect<Chunks, Backend.BackendError | Cause.Done>

/** The body of one reply. It was cancelled when its scope closes before its end was given out. */
const play = Effect.fnUntraced(function* (take: () => Step, onCancel: () => void) {
  const step = take()
  const reads = readsOf(step)
  const end = endOf(step)
  let at = 0
  let ended = false
  yield* Effect.addFinalizer(() => Effect.sync(() => (ended ? undefined : onCancel())))
  const next = Effect.suspend((): Pull => {
    const read = reads[at++]
    if (read !== undefined) {
      ended = end === undefined && at === reads.length
      return Effect.succeed(read)
    }
    if (end === undefined) return Cause.done()
    ended = end._tag !== "Stall"
    return finish(end)
  })
  const pull = Effect.suspend((): Pull => {
    const pause = at === 0 ? step.delay : ended ? undefined : step.chunkDelay
    return pause === undefined ? next : Effect.andThen(Effect.sleep(pause), next)
  })
  return Stream.fromPull(Effect.succeed(pull))
})

type End =
  | { readonly _tag: "Fail"; readonly error: Backend.BackendError }
  | { readonly _tag: "Die"; readonly defect: unknown }
  | { readonly _tag: "Stall" }

const finish = (end: End): Effect.Effect<never, Backend.BackendError> => {
  switch (end._tag) {
    case "Fail":
      return Effect.fail(end.error)
    case "Die":
      return Effect.die(end.defect)
    case "Stall":
      return Effect.never
  }
}

const endOf = (step: Step): End | undefined => {
  if (step.defect !== undefined) return { _tag: "Die", defect: step.defect }
  if (step.stall === true) return { _tag: "Stall" }
  const cut = step.cut === true || step.failAfterChunks !== undefined
  const reason =
    step.error ??
    (cut ? new Backend.BadResponse({ problem: "cut", detail: "the stream ended in the middle" }) : undefined)
  if (reason === undefined) return undefined
  const usage = step.usage === undefined ? {} : { usage: step.usage }
  return { _tag: "Fail", error: new Backend.BackendError({ reason, ...usage }) }
}

const isChunks = (read: Read): read is Chunks => Array.isArray(read)

const chunksOf = (read: Read): Chunks => {
  if (typeof read === "string") return [Backend.Chunk.Text({ text: read })]
  return isChunks(read) ? read : [read]
}

const readsOf = (step: Step): ReadonlyArray<Chunks> => {
  const text = step.content === undefined || step.content === "" ? [] : [step.content]
  const spoken: ReadonlyArray<Read> = step.chunks ?? text
  const thought: ReadonlyArray<Read> =
    step.reasoning === undefined ? [] : [Backend.Chunk.Reasoning({ text: step.reasoning })]
  const reads = [...thought, ...spoken].map(chunksOf)
  if (endOf(step) !== undefined) return reads.slice(0, step.failAfterChunks ?? reads.length)
  const finished = Backend.Chunk.Finished({ reply: replyOf(step, reads) })
  const shown = (step.toolCalls ?? []).map((call, index) =>
    Backend.Chunk.ToolArguments({ index, name: call.name, text: call.arguments })
  )
  const [first, ...rest] = [...shown, finished]
  return first === undefined ? reads : [...reads, [first, ...rest]]
}

const replyOf = (step: Step, reads: ReadonlyArray<Chunks>): Backend.Reply => {
  const toolCalls = step.toolCalls ?? []
  const streamed = reads.flat().map((chunk) => (chunk._tag === "Text" ? chunk.text : ""))
  return {
    text: step.content ?? streamed.join(""),
    toolCalls,
    partialCalls: step.partialCalls ?? [],
    finish: step.finish ?? (toolCalls.length > 0 ? "tool-calls" : "stop"),
    warnings: step.warnings ?? [],
    ...(step.reasoning === undefined ? {} : { reasoning: step.reasoning }),
    ...(step.finishReason === undefined ? {} : { finishReason: step.finishReason }),
    ...(step.usage === undefined ? {} : { usage: step.usage }),
    ...(step.modelUsed === undefined ? {} : { modelUsed: step.modelUsed }),
    ...(step.replay === undefined ? {} : { replay: step.replay })
  }
}
