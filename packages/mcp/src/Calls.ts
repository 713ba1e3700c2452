/**
 * The calls that are out on one connection, and how a server's words reach the run they belong to.
 *
 * L1. A progress token is made for one call and forgotten with it; a note under any other token reaches nobody (M9).
 * L2. A word is handed over in the turn in which it was read, so nothing said before an answer is told after it.
 * L3. A server that talks without end cannot pile up work here: beyond a bound its words are dropped and counted.
 */
import * as Json from "@settle/core/model/Json"
import * as Asker from "@settle/core/port/Asker"
import * as CallScope from "@settle/core/port/CallScope"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"

/** One call that is out. */
export interface Call {
  readonly callId: string
  readonly token: number
  readonly scope: CallScope.CallScope
  readonly asker: Asker.Asker
  /** When the server last spoke of it, milliseconds. */
  heardAt: number
  /** Of the request that carries it, once that is written. */
  requestId: number | undefined
}

export interface Calls {
  /** Registers a call for as long as `use` runs. */
  readonly during: <A, E, R>(callId: string, use: (call: Call) => Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** The call under this request has its answer: nothing more is told of it, even from the same read. */
  readonly answered: (requestId: number) => void
  readonly progress: (params: Json.JsonObject) => void
  readonly log: (level: CallScope.LogLevel, logger: string, data: Json.Json) => void
  /** The call that most likely brought a question up: the one that began last. */
  readonly youngest: () => Call | undefined
  /** How many calls there have been. */
  readonly begun: () => number
  /** Words that were dropped for their number. */
  readonly dropped: () => number
}

const maxPending = 1_000

export const make: Effect.Effect<Calls, never, Scope.Scope> = Effect.gen(function* () {
  const live = new Map<number, Call>()
  const run = yield* FiberSet.makeRuntime<never, void, never>()
  let tokens = 0
  let pending = 0
  let dropped = 0

  const tell = (effect: Effect.Effect<void>): void => {
    if (pending >= maxPending) {
      dropped++
      return
    }
    pending++
    run(
      Effect.ensuring(
        effect,
        Effect.sync(() => pending--)
      )
    )
  }

  return {
    during: (callId, use) =>
      Effect.gen(function* () {
        const call: Call = {
          callId,
          token: ++tokens,
          scope: yield* CallScope.CallScope,
          asker: yield* Asker.Asker,
          heardAt: yield* Clock.currentTimeMillis,
          requestId: undefined
        }
        live.set(call.token, call)
        return yield* Effect.ensuring(
          use(call),
          Effect.sync(() => live.delete(call.token))
        )
      }),
    answered: (requestId) => {
      for (const call of live.values()) if (call.requestId === requestId) live.delete(call.token)
    },
    progress: (params) => {
      const call = live.get(Number(params["progressToken"]))
      const progress = params["progress"]
      if (call === undefined || typeof progress !== "number") return
      const { total, message } = params
      const note: CallScope.Progress = {
        callId: call.callId,
        progress,
        ...(typeof total === "number" ? { total } : {}),
        ...(typeof message === "string" ? { message: Json.wellFormed(message) } : {})
      }
      tell(
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          call.heardAt = now
          return call.scope.progress(note)
        })
      )
    },
    log: (level, logger, data) => {
      // one word for each run that has a call out, not for each call
      const scopes = new Map([...live.values()].map((call) => [call.scope.runId, call.scope]))
      if (scopes.size === 0) tell(Effect.logDebug(`${logger}: ${Json.render(data)}`))
      for (const scope of scopes.values()) tell(scope.log(level, logger, data))
    },
    youngest: () => [...live.values()].at(-1),
    begun: () => tokens,
    dropped: () => dropped
  }
})

/** The protocol has eight levels. */
export const level = (given: Json.Json | undefined): CallScope.LogLevel => {
  switch (given) {
    case "debug":
    case "info":
    case "warning":
    case "error":
      return given
    case "notice":
      return "info"
    case "critical":
    case "alert":
    case "emergency":
      return "error"
    default:
      return "info"
  }
}
