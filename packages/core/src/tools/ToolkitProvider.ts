/**
 * An Effect `Toolkit` as a provider of tools.
 *
 * K1. Every call is answered: what a handler returns, fails with or throws becomes text, whatever it is (X-SAFE-01). Arguments that
 *     do not fit are an answer that names them.
 * K2. Annotations of a tool give its idempotency class and nothing else; where two contradict each other the worse one counts
 *     (X-IDEM-01, -02). Only what was annotated counts: `effect/ai` calls every tool destructive that says nothing.
 * K3. Preliminary results are progress of the call.
 * K4. `effect/ai` is loaded when the first provider is made: whoever has no toolkit does not pay for it.
 */
import type * as AiTool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Json from "../model/Json.ts"
import * as Tool from "../model/Tool.ts"
import { CallScope } from "../port/CallScope.ts"
import type { ToolProvider } from "../port/ToolProvider.ts"
import type * as Rules from "./Rules.ts"
import * as ToolOutput from "./ToolOutput.ts"

export interface Options {
  /** Where the tools live, for people and for grants. Default: not said. */
  readonly origin?: string
  /** How a call takes an interruption. Default `detach`: its handler runs on. */
  readonly interruption?: Tool.Interruption
}

type Tools = Record<string, AiTool.Any>

/** What its handlers need is taken from here; what a run provides is there as well. */
export const make = <T extends Tools>(
  toolkit: Toolkit.Toolkit<T>,
  options: Options = {}
): Effect.Effect<ToolProvider, never, AiTool.HandlersFor<T> | AiTool.HandlerServices<T[keyof T]>> =>
  Effect.gen(function* () {
    const annotations = yield* Effect.promise(() => import("effect/ai/Tool"))
    const services = yield* Effect.context<AiTool.HandlerServices<T[keyof T]>>()
    const handled = yield* toolkit
    const tools = new Map<string, AiTool.Any>(Object.entries(toolkit.tools))
    const declarations = [...tools.values()].map((tool) => declare(annotations, tool, options))
    const answer = (invocation: Tool.Invocation) =>
      tools.has(invocation.name)
        ? Effect.updateContext(run(handled, invocation), (given: Context.Context<never>) =>
            Context.merge(services, given)
          )
        : Effect.succeed(unknownTool(invocation.name, [...tools.keys()]))
    return {
      list: Effect.succeed(declarations),
      execute: (batch) => Effect.forEach(batch, answer, { concurrency: "unbounded" })
    }
  })

/** The questions that tools of a toolkit ask for themselves (`needsApproval`), as rules: one that depends on the call always asks. */
export const rules = (toolkit: Toolkit.Any, prefix = ""): ReadonlyArray<Rules.Rule> =>
  Object.values(toolkit.tools)
    .filter(({ needsApproval }) => needsApproval !== undefined && needsApproval !== false)
    .map(({ name }) => ({ tool: `${prefix}${name}`, decision: "ask", note: "the tool asks for approval" }))

const declare = (ai: typeof AiTool, tool: AiTool.Any, { interruption, origin }: Options): Tool.Declaration => {
  const schema = Json.fromUnknown(ai.getJsonSchema(tool))
  const description = ai.getDescription(tool)
  const idempotency = idempotencyOf(ai, tool)
  return {
    name: tool.name,
    ...(description === undefined ? {} : { description }),
    parameters: { ...(Json.isObject(schema) ? schema : {}), type: "object" },
    ...(idempotency === undefined ? {} : { idempotency }),
    ...(interruption === undefined ? {} : { interruption }),
    ...(origin === undefined ? {} : { origin })
  }
}

const idempotencyOf = (ai: typeof AiTool, { annotations }: AiTool.Any): Tool.Idempotency | undefined => {
  const says = (key: Context.Reference<boolean>) => annotations.mapUnsafe.has(key.key) && Context.get(annotations, key)
  if (says(ai.Readonly)) return says(ai.Destructive) ? "destructive" : "read-only"
  if (says(ai.Idempotent)) return "idempotent"
  return says(ai.Destructive) ? "destructive" : undefined
}

const unknownTool = (name: string, known: ReadonlyArray<string>): Tool.Answer =>
  Tool.failed(
    `There is no tool ${JSON.stringify(name)}. ` +
      (known.length === 0 ? "No tools are offered." : `The tools are: ${known.join(", ")}.`)
  )

/** One output of a handler, for any tool. */
interface Output {
  readonly encodedResult: unknown
  readonly modelOutput?: ToolOutput.Parts | undefined
  readonly isFailure: boolean
  readonly preliminary: boolean
}

const run = <T extends Tools>(toolkit: Toolkit.WithHandler<T>, invocation: Tool.Invocation) =>
  Effect.gen(function* () {
    const { arguments: text, callId, name } = invocation
    const args = text.trim() === "" ? {} : Json.parse(text)
    if (!Json.isObject(args)) return Tool.failed(`The arguments of ${name} must be one JSON object.`)
    const scope = yield* CallScope
    let progress = 0
    let final: Output | undefined
    // The toolkit decodes the arguments itself, by the schema of the tool whose name this is: no type can say so here.
    const outputs = yield* toolkit.handle(name, args as never, callId, { errors: "all" })
    yield* Stream.runForEach(outputs, (output: Output) => {
      if (output.preliminary) {
        return scope.progress({ callId, progress: ++progress, message: ToolOutput.render(output.encodedResult) })
      }
      final = output
      return Effect.void
    })
    return final === undefined ? Tool.failed(`${name} ended without a result.`) : answerOf(final)
  }).pipe(Effect.catchCause((cause) => Effect.succeed(broken(invocation.name, cause))))

const answerOf = ({ encodedResult, isFailure, modelOutput }: Output): Tool.Answer => {
  if (isFailure) return Tool.failed(ToolOutput.render(encodedResult))
  const shown = modelOutput === undefined ? undefined : ToolOutput.fromParts(modelOutput)
  const structured = Json.fromUnknown(encodedResult)
  return Tool.Answer.Answered({
    content: shown?.content ?? ToolOutput.render(encodedResult),
    isError: false,
    ...(shown === undefined || shown.parts.length === 0 ? {} : { parts: shown.parts }),
    ...(Json.isObject(structured) ? { structuredContent: structured } : {})
  })
}

/** A handler that was interrupted may have done its work: nothing is known of it. */
const broken = (name: string, cause: Cause.Cause<unknown>): Tool.Answer =>
  Cause.hasInterruptsOnly(cause)
    ? Tool.Answer.Lost({ message: `${name} was interrupted` })
    : Tool.failed(ToolOutput.failure(name, Cause.squash(cause)))
