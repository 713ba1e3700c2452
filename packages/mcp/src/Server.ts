/**
 * One configured server over its lives: it is started, watched, and started again after a death.
 *
 *          started              ended or failed
 * Starting --------> Up <---------------------------> Down
 *     |                     a use, after the back-off   ^
 *     +-------------------------------------------------+
 *
 * D1. One start at a time; whoever needs the server meanwhile waits for that start.
 * D2. A death is noticed by the next use and by nothing else; no call is ever made again on the new connection (M2).
 * D3. A failure is a state and never an error of the others: it is told by `status` and by every use.
 */
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as Backoff from "./Backoff.ts"
import * as Client from "./Client.ts"
import * as McpError from "./McpError.ts"
import type * as ServerSpec from "./ServerSpec.ts"

export type State = Data.TaggedEnum<{
  Starting: {}
  Up: {
    readonly client: Client.Client
    readonly scope: Scope.Closeable
    readonly since: number
    readonly tookMs: number
  }
  Down: { readonly error: McpError.McpError }
}>
export const State = Data.taggedEnum<State>()

export interface Server {
  readonly name: string
  readonly spec: ServerSpec.ServerSpec
  readonly state: () => State
  /** Times it was started again after a death. */
  readonly restarts: () => number
  /** The live client, started again where it died and the back-off allows. */
  readonly client: Effect.Effect<Client.Client, McpError.McpError>
  /** The live client; a start that is due begins beside and is not waited for, except the first one. */
  readonly listingClient: Effect.Effect<Client.Client, McpError.McpError>
}

export const make = Effect.fnUntraced(function* (
  name: string,
  spec: ServerSpec.ServerSpec
): Effect.fn.Return<Server, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const one = Semaphore.makeUnsafe(1)
  let state: State = State.Starting()
  let failures = Backoff.none
  let restarts = 0

  const fell = (error: McpError.McpError, stoodFor: number | undefined) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      failures = Backoff.failed(failures, { now, stoodFor })
      state = State.Down({ error })
      return error
    })

  /** Up with a connection that has ended is Down; its scope is closed before another is opened (I4 of the client). */
  const settle = Effect.suspend(() => {
    if (state._tag !== "Up") return Effect.void
    const { client, scope: own, since } = state
    const ended = client.ended()
    if (ended === undefined) return Effect.void
    return Effect.gen(function* () {
      yield* Scope.close(own, Exit.void)
      const stoodFor = (yield* Clock.currentTimeMillis) - since
      yield* fell(McpError.of(name, new McpError.ConnectionLost({ detail: `it ${ended}` })), stoodFor)
      yield* Effect.logWarning(`MCP server ${name} ${ended}; it is started again on the next use.`)
    }).pipe(Effect.uninterruptible)
  })

  const start = Effect.gen(function* () {
    const own = yield* Scope.fork(scope)
    const before = yield* Clock.currentTimeMillis
    const again = state._tag === "Down" && failures.count > 0
    const client = yield* Client.connect(name, spec).pipe(
      Scope.provide(own),
      Effect.onExit((exit) => (Exit.isFailure(exit) ? Scope.close(own, exit) : Effect.void)),
      Effect.catch((error) => Effect.flatMap(fell(error, undefined), Effect.fail))
    )
    const since = yield* Clock.currentTimeMillis
    if (again) restarts++
    state = State.Up({ client, scope: own, since, tookMs: since - before })
    return client
  })

  const client = Effect.gen(function* () {
    yield* settle
    if (state._tag === "Up") return state.client
    if (state._tag === "Down") {
      const left = Backoff.left(failures, yield* Clock.currentTimeMillis)
      if (left > 0) return yield* Effect.fail(backingOff(name, state.error, left))
    }
    return yield* start
  }).pipe(one.withPermits(1))

  const listingClient = Effect.suspend(() => {
    if (state._tag === "Starting" || (state._tag === "Up" && state.client.ended() === undefined)) return client
    const error =
      state._tag === "Down" ? state.error : McpError.of(name, new McpError.ConnectionLost({ detail: "it ended" }))
    return Effect.andThen(Effect.forkIn(Effect.ignore(client), scope), Effect.fail(error))
  })

  return { name, spec, state: () => state, restarts: () => restarts, client, listingClient }
})

const backingOff = (name: string, error: McpError.McpError, leftMs: number): McpError.McpError =>
  McpError.of(name, new McpError.BackingOff({ last: error.reason.message, retryInSeconds: Math.ceil(leftMs / 1000) }))
