/**
 * Stale tool results become one-line stubs: cheaper than a summary, and nothing that was decided is lost.
 *
 * A1. Only tool messages before the recent window, not sticky, not stubs already, and only where the stub is shorter.
 * A2. Of several answers to one call, the newest is never touched; the older ones go whatever their size. A call answered once goes
 *     when its answer is long and enough conversation came after it.
 * A3. A stub is a function of the size and the tool alone: the same result ages to the same bytes in every process.
 */
import * as Canonical from "../model/Canonical.ts"
import * as Message from "../model/Message.ts"
import * as Operation from "../model/Operation.ts"

export interface Settings {
  /** Answers up to this many characters stay. */
  readonly minChars: number
  /** Characters of conversation that must follow, and that a pass must be able to win. */
  readonly reclaimMin: number
}

export interface Elision {
  /** Index in the given messages. */
  readonly index: number
  readonly stub: string
}

const prefix = "[Elided by the harness: "

export const stub = (chars: number, tool: string | undefined): string =>
  `${prefix}a result of ${chars} characters${tool === undefined ? "" : ` from ${tool}`}. Call the tool again if it is needed.]`

/** Which of the first `end` messages go. */
export const elisions = (
  messages: ReadonlyArray<Message.Message>,
  end: number,
  settings: Settings
): ReadonlyArray<Elision> => {
  const calls = callsById(messages)
  const newest = new Map<string, number>()
  const times = new Map<string, number>()
  for (const [index, message] of messages.entries()) {
    const identity = identityOf(message, calls)
    if (identity === undefined) continue
    newest.set(identity, index)
    times.set(identity, (times.get(identity) ?? 0) + 1)
  }
  const found: Array<Elision> = []
  let behind = messages.reduce((sum, message) => sum + message.content.length, 0)
  for (const [index, message] of messages.slice(0, end).entries()) {
    behind -= message.content.length
    if (message.role !== "tool" || Message.isSticky(message) || message.content.startsWith(prefix)) continue
    const identity = identityOf(message, calls)
    const isRepeated = identity !== undefined && (times.get(identity) ?? 0) > 1
    const isStale = isRepeated
      ? newest.get(identity) !== index
      : message.content.length > settings.minChars && behind >= settings.reclaimMin
    const made = stub(message.content.length, calls.get(message.toolCallId ?? "")?.name)
    if (isStale && made.length < message.content.length) found.push({ index, stub: made })
  }
  return found
}

/** Characters that these elisions win. */
export const reclaimed = (messages: ReadonlyArray<Message.Message>, items: ReadonlyArray<Elision>): number =>
  items.reduce((sum, { index, stub }) => sum + (messages[index]?.content.length ?? 0) - stub.length, 0)

export const apply = (
  messages: ReadonlyArray<Message.Message>,
  items: ReadonlyArray<Elision>
): ReadonlyArray<Message.Message> => {
  const stubs = new Map(items.map(({ index, stub }) => [index, stub]))
  return messages.map((message, index) => {
    const made = stubs.get(index)
    return made === undefined ? message : aged(message, made)
  })
}

/** What was shown beside the text goes with it. */
const aged = ({ parts: _, ...message }: Message.Message, content: string): Message.Message => ({ ...message, content })

const callsById = (messages: ReadonlyArray<Message.Message>): ReadonlyMap<string, Message.ToolCall> =>
  new Map(messages.flatMap((message) => Message.callsOf(message).map((call) => [call.id, call] as const)))

const identities = new WeakMap<Message.ToolCall, string>()

const identityOf = (message: Message.Message, calls: ReadonlyMap<string, Message.ToolCall>): string | undefined => {
  const call = message.role === "tool" ? calls.get(message.toolCallId ?? "") : undefined
  if (call === undefined) return undefined
  const known = identities.get(call)
  if (known !== undefined) return known
  const made = Operation.signature({ tool: call.name, arguments: Canonical.callArguments(call.arguments) })
  identities.set(call, made)
  return made
}
