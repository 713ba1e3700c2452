/**
 * The next action of a conversation: one of the offered tools with its arguments, or an answer.
 *
 * Router owns the rules; what a value may be is the grammar's, what is likely is the model's.
 *
 * R1. Every action is an offered tool with all its arguments, or an answer with text; only a token limit cuts one short.
 * R2. After the model's number of results the turn is answered; an action that was already taken is never repeated.
 * R3. The same conversation, catalogue, sampling and limit give the same action, whatever the session held before.
 */
import * as Answers from "./Answers.ts"
import * as Arguments from "./Arguments.ts"
import * as Catalogue from "./Catalogue.ts"
import * as Choice from "./Choice.ts"
import * as Grammar from "./Grammar.ts"
import type { Model } from "./Model.ts"
import * as Prompt from "./Prompt.ts"
import * as Session from "./Session.ts"
import * as Turn from "./Turn.ts"
import * as Writer from "./Writer.ts"

export interface Question {
  readonly messages: ReadonlyArray<Prompt.Message>
  readonly tools: ReadonlyArray<Catalogue.Offer>
  /** No tool any more: the turn is to be answered now. */
  readonly closing?: boolean
  /** Without it the likeliest action, always. */
  readonly sampling?: Choice.Sampling
  /** Most tokens of the action's JSON. Default, and at most: the room kept for a reply. */
  readonly maxTokens?: number
}

export interface Action {
  /** The offered tool's name; `undefined` for an answer. */
  readonly tool: string | undefined
  readonly arguments: ReadonlyMap<string, string>
  /** The answer's text; empty for a tool. */
  readonly answer: string
  /** The exact JSON, or as much of it as the limit allowed. */
  readonly json: string
  readonly cut: boolean
  /** Why: the model's own choice, or the rule that overruled it. */
  readonly because: "model" | "not-offered" | "step-limit" | "repeated"
  /** The model's probability for the tool it wanted, among all it knows. It is not calibrated. */
  readonly confidence: number
  readonly promptTokens: number
  /** The part of `promptTokens` that was still held from an earlier prompt. */
  readonly heldTokens: number
  /** Tokens of `json` and the end mark. */
  readonly actionTokens: number
}

const emptyHanded = "The tool returned nothing."
const answerName = "answer"

/** The prompt of a question, up to the mark after which the model writes an action. */
export const prompt = (model: Model, question: Question): ReadonlyArray<number> => {
  const offered = Catalogue.offered(question.tools)
  return promptOf(model, Turn.make(question.messages, model.limits, offered), offered)
}

const promptOf = (model: Model, turn: Turn.Turn, offered: Offered): ReadonlyArray<number> =>
  Prompt.tokens(model, turn.seen, (action) => trainedName(action, offered))

type Offered = ReadonlyMap<Catalogue.Known, string>

/** A known tool keeps its trained name in the prompt, whatever prefix it is offered under. */
const trainedName = (action: string, offered: Offered): string => {
  for (const [tool, name] of offered) {
    const start = `{"tool":"${name}"`
    if (name !== tool.name && action.startsWith(start)) return `{"tool":"${tool.name}"${action.slice(start.length)}`
  }
  return action
}

/** What one question is worked out with. */
interface Work {
  readonly session: Session.Session
  readonly model: Model
  readonly offered: Offered
  readonly turn: Turn.Turn
  readonly prompt: ReadonlyArray<number>
  readonly choose: Choice.Choose
  readonly closing: boolean
  readonly limit: number
}

export function* next(session: Session.Session, question: Question): Session.Steps<Action> {
  const { model } = session
  const offered = Catalogue.offered(question.tools)
  const turn = Turn.make(question.messages, model.limits, offered)
  const prompt = promptOf(model, turn, offered)
  const limit = Math.min(question.maxTokens ?? Infinity, Prompt.replyRoom)
  const closing = question.closing === true || turn.results >= model.limits.steps
  const work: Work = { session, model, offered, turn, prompt, choose: Choice.make(question.sampling), closing, limit }
  const heldTokens = yield* Session.begin(session, [...prompt, model.marks.open])
  const wish = decide(work)
  const written = yield* act(work, wish)
  return {
    ...written,
    confidence: wish.confidence,
    promptTokens: prompt.length,
    heldTokens: Math.min(heldTokens, prompt.length)
  }
}

interface Wish {
  /** `undefined`: to answer. */
  readonly tool: Catalogue.Known | undefined
  readonly confidence: number
}

type Written = Omit<Action, "confidence" | "promptTokens" | "heldTokens">

/** The tool that the model wants, among those it knows. One that is offered and has nothing to be filled with does not stand for choice. */
const decide = ({ choose, model, offered, session, turn }: Work): Wish => {
  const names = new Map<number, Catalogue.Known | undefined>()
  for (const tool of [...Catalogue.known, undefined]) {
    names.set(model.tokenizer.ids.get(tool?.name ?? answerName) ?? model.marks.end, tool)
  }
  const context = { turn, extensions: model.extensions }
  const canFill = (tool: Catalogue.Known): boolean =>
    tool.arguments.every((argument) => Grammar.isPossible(Arguments.programs(context, tool, argument)))
  const standing = [...names].filter(([, tool]) => {
    return tool === undefined || !isOffered(turn, offered, tool) || canFill(tool)
  })
  const { logits } = session.memory
  const token = choose(
    logits,
    standing.map(([token]) => token)
  )
  return { tool: names.get(token), confidence: Choice.share(logits, token, [...names.keys()]) }
}

/** While the request is cut, nothing is written: the content could be cut too. */
const isOffered = (turn: Turn.Turn, offered: Offered, tool: Catalogue.Known): boolean =>
  offered.has(tool) && !(tool.arguments.includes("content") && Prompt.isCut(turn.user))

function* act(work: Work, { tool }: Wish): Session.Steps<Written> {
  const { closing, model, offered, prompt, session, turn } = work
  if (closing) return yield* answer(work, "step-limit")
  if (tool === undefined) return yield* answer(work, "model")
  const shown = offered.get(tool)
  if (shown === undefined || !isOffered(turn, offered, tool)) return yield* answer(work, "not-offered")
  const call = yield* write(work, tool, shown)
  if (call.cut || !Turn.did(turn, tool.name, call.arguments)) return call
  yield* Session.begin(session, [...prompt, model.marks.open])
  return yield* answer(work, "repeated")
}

function* write(work: Work, tool: Catalogue.Known, shown: string): Session.Steps<Written> {
  const { choose, limit, model, session, turn } = work
  const writer = Writer.make(session, choose, limit)
  const values = new Map<string, string>()
  yield* Writer.open(writer, { token: model.tokenizer.ids.get(tool.name) ?? model.marks.end, shown })
  if (tool.arguments.length === 0) Writer.close(writer)
  for (const [i, key] of tool.arguments.entries()) {
    const programs = Arguments.programs({ turn, extensions: model.extensions }, tool, key, values.get("path"))
    const more = i + 1 < tool.arguments.length
    values.set(key, yield* Writer.field(writer, { key, programs, more, streamed: false }))
  }
  return { tool: shown, arguments: values, answer: "", because: "model", ...outcome(writer) }
}

function* answer(work: Work, because: Action["because"]): Session.Steps<Written> {
  const { choose, limit, model, offered, session, turn } = work
  const abilities = Answers.abilities(model, offered)
  const sorry: Grammar.Program = [Grammar.literal(`I can't help with that. ${abilities}`)]
  const sentences =
    because === "not-offered" && turn.last === undefined ? [sorry] : Answers.programs(model, turn, abilities)
  const programs = Grammar.isPossible(sentences) ? sentences : [[Grammar.literal(emptyHanded)]]
  const writer = Writer.make(session, choose, limit)
  yield* Writer.open(writer, { token: model.tokenizer.ids.get(answerName) ?? model.marks.end, shown: answerName })
  const text = yield* Writer.field(writer, { key: "text", programs, more: false, streamed: true })
  return { tool: undefined, arguments: new Map(), answer: text, because, ...outcome(writer) }
}

const outcome = ({ cut, text, tokens }: Writer.Writer) => ({ json: text, cut, actionTokens: tokens })
