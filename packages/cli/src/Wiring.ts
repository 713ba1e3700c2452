/**
 * The only place that chooses the parts of a run and puts them together.
 *
 * W1. What can be refused without touching anything is refused first: models and keys, then servers, then the transcript; a refused
 *     command leaves every file as it was.
 * W2. A transcript whose permissions cannot be read is not gone on with: what was forbidden for good would be forgotten.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Agent from "@settle/core/agent/Agent"
import * as Asker from "@settle/core/port/Asker"
import { Artifacts } from "@settle/core/port/Artifacts"
import { type Backend, Backends } from "@settle/core/port/Backend"
import * as CompactorPort from "@settle/core/port/Compactor"
import { RequestBudget } from "@settle/core/port/RequestBudget"
import { TokenCounter } from "@settle/core/port/TokenCounter"
import { ToolProvider, type ToolProvider as Provider } from "@settle/core/port/ToolProvider"
import { Transcript } from "@settle/core/port/Transcript"
import * as Compactor from "@settle/core/standard/Compactor"
import * as EstimateCounter from "@settle/core/standard/EstimateCounter"
import * as Grants from "@settle/core/tools/Grants"
import * as Policy from "@settle/core/tools/Policy"
import * as Sampler from "@settle/mcp/Sampler"
import * as FsArtifacts from "@settle/store-fs/FsArtifacts"
import * as FsTranscript from "@settle/store-fs/FsTranscript"
import * as Location from "@settle/store-fs/Location"
import * as About from "@settle/backends/embedded/About"
import type { Ask } from "./commands/Flags.ts"
import * as Drive from "./Drive.ts"
import * as Failure from "./Failure.ts"
import * as Granted from "./Granted.ts"
import * as Lines from "./Lines.ts"
import * as Models from "./Models.ts"
import * as Out from "./Out.ts"
import type { Plan } from "./Plan.ts"
import type * as Render from "./Render.ts"
import * as Sampling from "./Sampling.ts"
import * as Servers from "./Servers.ts"
import type { SessionFile } from "./SessionFile.ts"
import * as TerminalAsker from "./TerminalAsker.ts"
import { version } from "./Version.ts"

export interface Request {
  readonly plan: Plan
  /** Folder of the project: relative paths, and the sessions. */
  readonly root: string
  readonly system: string | undefined
  readonly session: SessionFile | undefined
}

/** What is said where nobody chose a model. */
export const builtInAnswers = `No model is configured: ${About.label} answers. For a real one: --base-url URL --model NAME, or "models" in settle.json.`

/** Says so, once nothing can be refused any more. */
export const introduce = (plan: Plan) => (plan.isBuiltIn ? Drive.say(builtInAnswers) : Effect.void)

/** Models and tools, up and checked; nothing is written yet. */
export const prepare = Effect.fn("Wiring.prepare")(function* (plan: Plan, root: string, ask: Ask) {
  const chain = yield* Models.chain(plan.chain, root)
  const first = (yield* isAttended(ask)) ? chain[0] : undefined
  const sampling = first === undefined ? undefined : yield* Sampling.make(first)
  const strict = Effect.provideService(Servers.strict(plan.servers, root), Sampler.Sampler, sampling?.sampler)
  const servers = plan.servers.size === 0 ? undefined : yield* strict
  return { chain, servers, sampling }
})

/** The standard compactor over the smallest window of the chain; none where no window is configured. */
const compactorOf = ({ compaction }: Plan, counter: TokenCounter, backend: Backend | undefined) =>
  compaction === undefined
    ? Effect.undefined
    : Effect.fromResult(
        Compactor.make(
          { budget: compaction.window, triggerRatio: compaction.trigger, targetRatio: compaction.target },
          { counter, backend }
        )
      )

export type Prepared = Effect.Success<ReturnType<typeof prepare>>

/** Opens the transcript for writing; a new file gets its header. One whose permissions cannot be read is refused (W2). */
export const openTranscript = Effect.fn("Wiring.openTranscript")(function* (
  request: Pick<Request, "plan" | "root">,
  session: SessionFile
) {
  const transcript = yield* FsTranscript.open({
    path: session.path,
    meta: {
      name: session.name,
      project: request.root,
      createdBy: `settle ${version}`,
      models: request.plan.chain.map((link) => link.name)
    }
  })
  const problem = yield* Granted.problem(session.path, yield* transcript.replay)
  return problem === undefined
    ? transcript
    : yield* Failure.usage(
        `The session ${session.name} is not gone on with: ${Granted.sentence(problem, session.name)}.`
      )
})

/** The rules in front of the tools. What was granted for good in this transcript holds again. */
const guarded = Effect.fnUntraced(function* (
  provider: Provider,
  { plan, root }: Pick<Request, "plan" | "root">,
  transcript: FsTranscript.FsTranscript | undefined
) {
  const recorded = transcript === undefined ? [] : ((yield* transcript.replay).grants ?? [])
  const grants = yield* Effect.orDie(Grants.make(recorded))
  return yield* Policy.make({
    provider,
    grants,
    rules: plan.rules,
    preapproved: plan.allowed.map((tool) => ({ tool, decision: "allow" as const })),
    ground: { roots: [{ prefix: "", path: root }] }
  })
})

/** The agent of these parts. Closing the scope ends a run that is still live as a cancel would. */
export const assemble = Effect.fn("Wiring.assemble")(function* (
  { plan, root, system }: Pick<Request, "plan" | "root" | "system">,
  { chain, sampling, servers }: Prepared,
  transcript: FsTranscript.FsTranscript | undefined
) {
  const counter = EstimateCounter.make()
  const provider = servers === undefined ? undefined : yield* guarded(servers.provider, { plan, root }, transcript)
  const parts = Context.make(Backends, { chain }).pipe(
    Context.add(TokenCounter, counter),
    Context.add(CompactorPort.Compactor, yield* compactorOf(plan, counter, chain[0])),
    Context.add(RequestBudget, plan.budget),
    Context.add(ToolProvider, provider),
    Context.add(Transcript, transcript),
    Context.add(
      Artifacts,
      transcript === undefined ? undefined : FsArtifacts.make(Location.artifactsOf(transcript.path))
    )
  )
  const input = { ...plan.settings, ...(system === undefined ? {} : { system }) }
  const built = yield* Effect.provideContext(Layer.build(Agent.layer(input)), parts)
  const agent = Context.get(built, Agent.Agent)
  if (sampling !== undefined) yield* sampling.paidBy(agent.loop)
  return agent
})

const isAttended = (ask: Ask) =>
  Effect.map(Out.Out, ({ stderr }) => TerminalAsker.isAttended(ask, process.stdin.isTTY === true && stderr.isTerminal))

/** The person at the terminal, where there is one and the command may ask. */
export const asker = Effect.fn("Wiring.asker")(function* (ask: Ask, render: Render.Render) {
  const { stderr } = yield* Out.Out
  return (yield* isAttended(ask))
    ? TerminalAsker.make({ render, device: stderr, lines: Lines.make(process.stdin) })
    : Asker.none
})
