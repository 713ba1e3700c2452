/**
 * A provider that misbehaves on the loopback, down to the bytes of its connection: every kind in `HostileKinds`, cut into seeded
 * pieces, once or for ever.
 *
 * H1. A play is bytes, waits and an end; nothing is added to it. What HTTP would forbid can be said.
 * H2. One seed, one sequence of pieces.
 * H3. It lives in its scope and takes its connections with it.
 */
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"
import * as Net from "node:net"

/** One step of an answer: bytes, a wait in milliseconds, or how the connection ends. Without an end it is closed cleanly. */
export type Act = string | Uint8Array | { readonly wait: number } | "RESET" | "HANG"

export interface Hostility {
  /** Bytes of a connection that was just made, before any request; default: the request is read first. */
  readonly onConnect?: "RESET"
  /** Nobody listens. */
  readonly refused?: true
  readonly play: (random: () => number) => ReadonlyArray<Act>
}

export interface Options {
  readonly seed?: number
  /** How many requests it answers with `hostility`, before `then`. Default: all. */
  readonly times?: number
  readonly then?: ReadonlyArray<Act>
}

export interface HostileProvider {
  /** For a backend: ends in `/v1`. */
  readonly baseUrl: string
  /** Requests that arrived, and connections that were broken before one could. */
  readonly tries: () => number
  /** Bodies of the requests that arrived, in order. */
  readonly bodies: ReadonlyArray<string>
}

/** mulberry32: numbers from 0 to 1. */
export const seeded = (seed: number): (() => number) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** The body of the first whole request in these bytes, or `undefined` while it is not whole. */
const requestBody = (bytes: Buffer): string | undefined => {
  const end = bytes.indexOf("\r\n\r\n")
  if (end < 0) return undefined
  const length = Number(/content-length: (\d+)/i.exec(bytes.subarray(0, end).toString("latin1"))?.[1] ?? 0)
  const body = bytes.subarray(end + 4)
  return body.length < length ? undefined : body.subarray(0, length).toString("utf8")
}

/** One piece, in its own turn of the loop: a read of its own on the other side. */
const write = (socket: Net.Socket, bytes: string | Uint8Array): Effect.Effect<void> =>
  Effect.callback((resume) => {
    if (socket.destroyed) return resume(Effect.void)
    const done = () => {
      socket.off("close", done)
      setImmediate(() => resume(Effect.void))
    }
    socket.once("close", done)
    socket.write(bytes, done)
  })

const perform = Effect.fnUntraced(function* (socket: Net.Socket, acts: ReadonlyArray<Act>) {
  for (const act of acts) {
    if (socket.destroyed || act === "HANG") return
    if (act === "RESET") return void socket.resetAndDestroy()
    yield* typeof act === "string" || act instanceof Uint8Array ? write(socket, act) : Effect.sleep(act.wait)
  }
  socket.end()
})

const listen = (server: Net.Server): Effect.Effect<number> =>
  Effect.callback((resume) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

export const make = (hostility: Hostility, options: Options = {}): Effect.Effect<HostileProvider, never, Scope.Scope> =>
  Effect.gen(function* () {
    const random = seeded(options.seed ?? 1)
    const times = options.times ?? Number.POSITIVE_INFINITY
    const bodies: Array<string> = []
    const sockets = new Set<Net.Socket>()
    let tries = 0
    const run = yield* FiberSet.makeRuntime<never>()

    const answer = (socket: Net.Socket, body: string) => {
      bodies.push(body)
      const acts = tries++ < times ? hostility.play(random) : (options.then ?? [])
      run(perform(socket, acts))
    }

    const accept = (socket: Net.Socket) => {
      sockets.add(socket)
      socket.on("close", () => sockets.delete(socket))
      socket.on("error", () => undefined)
      socket.setNoDelay(true)
      if (hostility.onConnect === "RESET" && tries < times) {
        tries++
        socket.resetAndDestroy()
        return
      }
      let read = Buffer.alloc(0)
      let answered = false
      socket.on("data", (more: Buffer) => {
        if (answered) return
        read = Buffer.concat([read, more])
        const body = requestBody(read)
        if (body === undefined) return
        answered = true
        answer(socket, body)
      })
    }

    const server = yield* Effect.acquireRelease(
      Effect.sync(() => Net.createServer(accept)),
      (made) =>
        Effect.callback<void>((resume) => {
          for (const socket of sockets) socket.destroy()
          if (made.listening) made.close(() => resume(Effect.void))
          else resume(Effect.void)
        })
    )
    const port = yield* listen(server)
    if (hostility.refused === true)
      yield* Effect.callback<void>((resume) => void server.close(() => resume(Effect.void)))
    return { baseUrl: `http://127.0.0.1:${port}/v1`, tries: () => tries, bodies }
  })
