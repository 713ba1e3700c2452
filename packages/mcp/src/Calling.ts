/**
 * One tool call, from its request to its result.
 *
 * Z1. It ends: at its answer, at the silence or the ceiling that is configured, or with the connection (M4).
 * Z2. A tool that runs only as a task is started as one and followed to its result; giving it up cancels the task.
 */
import { ResultSchema } from "@modelcontextprotocol/sdk/types.js"
import * as Json from "@settle/core/model/Json"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Calls from "./Calls.ts"
import * as McpError from "./McpError.ts"
import * as Session from "./Session.ts"

export interface Request {
  readonly callId: string
  /** The server's own name for the tool. */
  readonly tool: string
  readonly arguments: Json.JsonObject
  /** Run it as a task of the server. Default false. */
  readonly asTask?: boolean
}

const ceilingDefault = "1 hour"
/** How long the server is asked to keep a task and its result, milliseconds. */
const taskLife = 3_600_000
const pollDefault = 1_000
const shortestPoll = 100

/** The result, errors of the tool included. Reads `CallScope` and `Asker` of the fiber that calls. */
export const call = (session: Session.Session, request: Request): Effect.Effect<Json.JsonObject, McpError.Reason> =>
  session.calls.during(request.callId, (out) => {
    const { callCeiling = ceilingDefault, callSilence } = session.spec
    const work = request.asTask === true ? asTask(session, request, out) : plain(session, request, out)
    const bounded = callSilence === undefined ? work : Effect.raceFirst(work, silence(out, callSilence))
    return bounded.pipe(Session.deadline(callCeiling, "tools/call", "ceiling"))
  })

const plain = (session: Session.Session, request: Request, out: Calls.Call, task?: { readonly ttl: number }) => {
  const params = {
    name: request.tool,
    arguments: { ...request.arguments },
    _meta: { progressToken: out.token },
    ...(task === undefined ? {} : { task })
  }
  const sent = Session.send(
    session,
    "tools/call",
    (options) => session.sdk.request({ method: "tools/call", params }, ResultSchema, options),
    (id) => {
      // progress of a task goes on after the answer that only says it has begun
      out.requestId = task === undefined ? id : undefined
    }
  )
  return Effect.map(sent, (result): Json.JsonObject => (Json.isObject(result) ? result : {}))
}

const asTask = (
  session: Session.Session,
  request: Request,
  out: Calls.Call
): Effect.Effect<Json.JsonObject, McpError.Reason> =>
  Effect.gen(function* () {
    const begun = yield* plain(session, request, out, { ttl: taskLife })
    const task = begun["task"]
    const id = Json.isObject(task) ? task["taskId"] : undefined
    // a server that answered at once has made no task of it
    if (!Json.isObject(task) || typeof id !== "string") return begun
    return yield* Effect.onInterrupt(followed(session, id, task), () => cancelled(session, id))
  })

const terminal = new Set<unknown>(["completed", "failed", "cancelled", "input_required"])

/** Polls as often as the server wishes; a task that waits for input is told of it over its result. */
const followed = (
  session: Session.Session,
  id: string,
  first: Json.JsonObject
): Effect.Effect<Json.JsonObject, McpError.Reason> =>
  Effect.gen(function* () {
    const tasks = session.sdk.experimental.tasks
    let task = first
    while (!terminal.has(task["status"])) {
      const wish = task["pollInterval"]
      yield* Effect.sleep(Math.max(shortestPoll, typeof wish === "number" ? wish : pollDefault))
      const now = Json.fromUnknown(yield* Session.short(session, "tasks/get", (options) => tasks.getTask(id, options)))
      task = Json.isObject(now) ? now : {}
    }
    const result = yield* Session.send(session, "tasks/result", (options) =>
      tasks.getTaskResult(id, ResultSchema, options)
    )
    return Json.isObject(result) ? result : {}
  })

/** The caller is gone already: this is a courtesy, and nobody waits for its answer. */
const cancelled = (session: Session.Session, id: string): Effect.Effect<void> =>
  Effect.asVoid(
    Effect.sync(() => {
      void session.sdk.experimental.tasks.cancelTask(id, { timeout: 5_000 }).catch(() => undefined)
    })
  )

/** Fails when the server has said nothing about this call for `limit`; every word of it begins the wait anew (M4). */
const silence = (out: Calls.Call, limit: Duration.Input): Effect.Effect<never, McpError.NoAnswer> =>
  Effect.gen(function* () {
    const millis = Duration.toMillis(Duration.fromInputUnsafe(limit))
    for (;;) {
      const left = out.heardAt + millis - (yield* Clock.currentTimeMillis)
      if (left <= 0)
        return yield* new McpError.NoAnswer({ method: "tools/call", seconds: millis / 1000, limit: "silence" })
      yield* Effect.sleep(left)
    }
  })
