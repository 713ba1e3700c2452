/** Schema tool routing: the catalogue is the request's grammar, every reply one action, every answer a user turn (L-ROUTE). */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Limits from "../decide/Limits.ts"
import * as Routing from "../decide/Routing.ts"
import * as Message from "../model/Message.ts"
import * as RunFailure from "../model/RunFailure.ts"
import * as Catalogue from "./Catalogue.ts"
import * as Live from "./Live.ts"
import * as NativeTurn from "./NativeTurn.ts"
import { RoundOutcome } from "./RoundOutcome.ts"
import type { Heard, Prepared, Turn, TurnStyle } from "./TurnStyle.ts"

const Prepared = Data.taggedEnum<Prepared>()

const leave = (reason: "no-tool-needed" | "tool-limit") =>
  Prepared.Leave({ outcome: RoundOutcome.HandedOver({ reason }) })

const prepare = Effect.fnUntraced(function* (live: Live.Live): Effect.fn.Return<Prepared, RunFailure.RunFailure> {
  const { round } = live.state
  const room = Limits.beforeAsking(live.state.tally, live.settings, 1)
  if (room._tag === "Reached") {
    live.feed.emit({ _tag: "LimitReached", limit: room.limit, count: room.count, max: room.max })
    return leave("tool-limit")
  }
  if (round > 1 && !(yield* Catalogue.read(live))) {
    return Prepared.Leave({ outcome: RoundOutcome.Cancelled({ stage: "start" }) })
  }
  const offer = Routing.offer(live.state.catalogue)
  switch (offer._tag) {
    case "Empty":
      Live.log(live, "warning", { message: "the catalogue is empty: there is nothing to choose but none" })
      return leave("no-tool-needed")
    case "Unroutable":
      return yield* RunFailure.failure(new RunFailure.CatalogueFailed({ detail: offer.problem }))
    case "Offered": {
      const { digest, schema } = offer.route
      live.state.route = offer.route
      live.feed.emit({ _tag: "RouteOffered", round, schema, digest })
      const request = {
        ...NativeTurn.request(live, []),
        schema: { name: Routing.schemaName, schema },
        maxTokens: live.settings.routingMaxTokens
      }
      return Prepared.Ask({ request })
    }
  }
})

const actionOf = (live: Live.Live, reply: Heard["reply"]): Routing.Action =>
  reply.toolCalls.length > 0
    ? Routing.Action.Invalid({ problem: "the reply is not one of the offered actions: it is a native tool call" })
    : Routing.parse(reply.text, live.state.route?.tools ?? [])

const interpret = (live: Live.Live, { attempt, latencyMs, reply }: Heard): Turn => {
  const { round } = live.state
  const action = actionOf(live, reply)
  const chosen = { _tag: "RouteChosen" as const, round, attempt, text: reply.text, usage: reply.usage ?? {}, latencyMs }
  const message = Message.assistant(reply.text)
  if (action._tag !== "Tool") {
    live.feed.emit({ ...chosen, action: "none" })
    return { message, calls: [] }
  }
  const call = { id: Routing.callId(round), name: action.name, arguments: action.arguments }
  live.feed.emit({ ...chosen, action: call.name, callId: call.id, arguments: call.arguments })
  return { message, calls: [call] }
}

export const style: TurnStyle = {
  outlook: (live) => NativeTurn.request(live, []),
  prepare,
  // A native call is no action of the grammar: `reject` says so.
  takesCalls: () => true,
  reject: (live, reply) => {
    const action = actionOf(live, reply)
    return action._tag === "Invalid" ? { reason: "invalid-action", detail: action.problem } : undefined
  },
  interpret,
  answer: ({ call, content, kind }) => Message.user(Routing.answer(call, content, kind === "error")),
  onQuietTurn: (live) =>
    Effect.sync(() => {
      live.feed.emit({ _tag: "TurnDiscarded", reason: "no-tool-needed", round: live.state.round })
      return RoundOutcome.HandedOver({ reason: "no-tool-needed" })
    }),
  onLimit: () => Effect.succeed(RoundOutcome.HandedOver({ reason: "tool-limit" }))
}
