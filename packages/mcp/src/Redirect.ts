/**
 * The page on this machine that a login comes back to. It listens on loopback alone, for as long as one login takes, and believes
 * only a return that carries the login's own state.
 */
import * as http from "node:http"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"

export interface Redirect {
  readonly url: string
  /** The code that came back with this state, or why none did. */
  readonly code: (state: string) => Effect.Effect<string, string>
}

const defaultPort = 33_418
const path = "/callback"

interface Return {
  readonly state: string | null
  readonly code: string | null
  readonly error: string | null
}

export const listen = (port = defaultPort): Effect.Effect<Redirect, never, Scope.Scope> =>
  Effect.gen(function* () {
    const waiting = new Map<string, Deferred.Deferred<string, string>>()
    const server = yield* Effect.acquireRelease(
      // a port that is taken is no reason to have no login: any other will do
      Effect.catch(opened(port, waiting), () => Effect.orDie(opened(0, waiting))),
      (open) =>
        Effect.sync(() => {
          open.closeAllConnections()
          open.close()
        })
    )
    const address = server.address()
    const real = typeof address === "object" && address !== null ? address.port : port
    return {
      url: `http://127.0.0.1:${real}${path}`,
      code: (state) =>
        Effect.suspend(() => {
          const came = Deferred.makeUnsafe<string, string>()
          waiting.set(state, came)
          return Effect.ensuring(
            Deferred.await(came),
            Effect.sync(() => waiting.delete(state))
          )
        })
    }
  })

const opened = (
  port: number,
  waiting: ReadonlyMap<string, Deferred.Deferred<string, string>>
): Effect.Effect<http.Server, Error> =>
  Effect.callback((resume) => {
    const server = http.createServer((request, response) => {
      const url = new URL(request.url ?? "/", "http://127.0.0.1")
      const told = url.pathname === path ? take(waiting, read(url.searchParams)) : undefined
      response.writeHead(told === undefined ? 404 : 200, {
        "content-type": "text/plain; charset=utf-8",
        connection: "close"
      })
      response.end(told ?? "Nothing is here.")
    })
    server.once("error", (error) => resume(Effect.fail(error)))
    server.listen(port, "127.0.0.1", () => resume(Effect.succeed(server)))
  })

const read = (query: URLSearchParams): Return => ({
  state: query.get("state"),
  code: query.get("code"),
  error: query.get("error_description") ?? query.get("error")
})

const take = (waiting: ReadonlyMap<string, Deferred.Deferred<string, string>>, came: Return): string | undefined => {
  const login = waiting.get(came.state ?? "")
  if (login === undefined) return undefined
  if (came.code !== null && came.code !== "") {
    Deferred.doneUnsafe(login, Exit.succeed(came.code))
    return "You are logged in. This page can be closed."
  }
  Deferred.doneUnsafe(login, Exit.fail(came.error ?? "the server sent neither a code nor a reason"))
  return "The login did not succeed. This page can be closed."
}
