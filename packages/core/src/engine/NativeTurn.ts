/** Native tool calling: declarations on the request, tool messages as answers, one more round after a limit. */
import * as Effect from "effect/Effect"
import * as Data from "effect/Data"
import * as Wording from "../decide/Wording.ts"
import * as Message from "../model/Message.ts"
import type { Declaration } from "../model/Tool.ts"
import type { Request } from "../port/Backend.ts"
import * as Commit from "./Commit.ts"
import type { Live } from "./Live.ts"
import { RoundOutcome } from "./RoundOutcome.ts"
import type { Prepared, TurnStyle } from "./TurnStyle.ts"

const Prepared = Data.taggedEnum<Prepared>()

const none: ReadonlyArray<Declaration> = []

const isOffering = (live: Live): boolean => live.provider !== undefined && !live.state.toolsOff

/** Conversation between the context's head and tail: the one place where the wire view is made (L-CTX-02). */
export const request = (live: Live, tools: ReadonlyArray<Declaration>): Request => ({
  conversation: live.state.conversation,
  ...(live.context.head === undefined ? {} : { head: live.context.head }),
  ...(live.context.tail === undefined ? {} : { tail: live.context.tail }),
  tools
})

const outlook = (live: Live): Request => request(live, isOffering(live) ? live.state.catalogue : none)

export const style: TurnStyle = {
  outlook,

  prepare: (live) => Effect.sync(() => Prepared.Ask({ request: outlook(live) })),

  takesCalls: isOffering,

  reject: () => undefined,

  interpret: (live, { reply }) => {
    // Without a provider, and after a limit, a call in a reply is no call (L-GEN-04, L-LIM-07).
    const calls = isOffering(live) ? reply.toolCalls : []
    const message = Message.assistant(reply.text, calls)
    return { calls, message: reply.replay === undefined ? message : { ...message, replay: reply.replay } }
  },

  answer: ({ call, content, parts }) => {
    const message = Message.tool(call.id, content)
    return parts === undefined || parts.length === 0 ? message : { ...message, parts }
  },

  onQuietTurn: () => Effect.succeed(undefined),

  onLimit: Effect.fnUntraced(function* (live) {
    yield* Commit.messages(live, [{ message: Message.system(Wording.limitReached), extras: {} }])
    live.state.toolsOff = true
    return RoundOutcome.Again()
  })
}
