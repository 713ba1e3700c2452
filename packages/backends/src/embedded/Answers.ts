/**
 * The sentences that may end a turn: those that belong to the last tool, their slots filled from the conversation.
 *
 * N1. A result that speaks of an unknown outcome is never called a failure; one that says so of its own call is answered as
 *     unknown and as nothing else.
 */
import * as Catalogue from "./Catalogue.ts"
import * as Grammar from "./Grammar.ts"
import type { Model } from "./Model.ts"
import * as Prompt from "./Prompt.ts"
import * as Turn from "./Turn.ts"
import * as Words from "./Words.ts"

const nothing = "I am a tiny demo model and know none of the tools offered here."
/** Names a sentence lists at most, after a search and after a listing. */
const searchItems = 3
const listItems = 8
const failure = "That did not work"
const doubt = "It is not known"
const isDoubtful = /unknown|not known|interrupted|may still|may have/i
const isUnknown =
  /whether it (?:took effect|happened) is (?:unknown|not known)|outcome\b.{0,20} (?:is|was) (?:unknown|not known)/i

/** What it can do here, as one sentence: with every known tool offered, the sentence that it was trained on. */
export const abilities = (model: Model, offered: ReadonlyMap<Catalogue.Known, string>): string => {
  if (offered.size === Catalogue.known.length) return trainedAbilities(model)
  if (offered.size === 0) return nothing
  return `Here I can ${[...offered.keys()].map((tool) => tool.does).join(", ")}.`
}

const trainedAbilities = (model: Model): string => (start(model)[0] ?? "").replace(/^Hello! /, "")

const start = (model: Model): ReadonlyArray<string> => model.answers.get("start") ?? []

export const programs = (model: Model, turn: Turn.Turn, abilities: string): ReadonlyArray<Grammar.Program> => {
  if (turn.last === undefined) {
    const general = trainedAbilities(model)
    return start(model).map((sentence) => [Grammar.literal(sentence.replace(general, abilities).trim())])
  }
  const call = turn.calls.at(-1)
  const sentences = (call === undefined ? undefined : model.answers.get(call.tool)) ?? model.answers.get("*") ?? []
  const { last } = turn
  const facts = factsOf(turn, last, model.limits.text)
  return sentences
    .filter((sentence) => isHonest(sentence, last) && isTrue(sentence, facts))
    .map((sentence) => fill(sentence, facts))
}

interface Facts {
  /** The result on one line, cut at a word where it is too long. */
  readonly text: string
  readonly textIsWhole: boolean
  readonly items: ReadonlyArray<string>
  readonly moreItems: boolean
  /** Choices for every other slot. */
  readonly slots: ReadonlyMap<string, ReadonlyArray<string>>
}

const factsOf = (turn: Turn.Turn, result: string, limit: number): Facts => {
  const flat = Words.squeeze(result.replace(Prompt.cutMark, ""))
  const textIsWhole = Prompt.byteLength(flat) <= limit && !Prompt.isCut(result)
  const most = turn.calls.at(-1)?.tool === Catalogue.search ? searchItems : listItems
  const items = /^(ENOENT|E[A-Z]+:|Error)/.test(result) ? [] : Words.entries(result)
  const slots = new Map<string, ReadonlyArray<string>>([["path", Turn.paths(turn)]])
  for (const line of Words.lines(result)) {
    const [, name, value] = /^(size|modified|created|permissions): (.+)$/.exec(line) ?? []
    if (name !== undefined && value !== undefined) slots.set(name, [value])
  }
  return {
    text: textIsWhole ? flat : cutAtWord(flat, limit),
    textIsWhole,
    items: items.slice(0, most),
    moreItems: items.length > most || Prompt.isCut(result),
    slots
  }
}

const cutAtWord = (flat: string, limit: number): string => {
  const oneMore = Prompt.firstBytes(flat, limit + 1)
  return oneMore.includes(" ") ? oneMore.slice(0, oneMore.lastIndexOf(" ")) : Prompt.firstBytes(flat, limit)
}

const isHonest = (sentence: string, result: string): boolean =>
  isUnknown.test(result) ? sentence.startsWith(doubt) : !(isDoubtful.test(result) && sentence.startsWith(failure))

/** Whether a sentence says of its own shape what is so: three dots only after a cut, `and more` only when there are more. */
const isTrue = (sentence: string, facts: Facts): boolean => {
  if (sentence.includes("{text}") && (facts.text === "" || sentence.endsWith("...") === facts.textIsWhole)) return false
  if (sentence.includes("{items}")) {
    if (facts.items.length === 0 || sentence.includes(" and more") !== facts.moreItems) return false
  }
  return facts.text === "" || !sentence.endsWith(" is empty.")
}

const fill = (sentence: string, facts: Facts): Grammar.Program =>
  sentence
    .split(/(\{\w+\})/)
    .filter((piece) => piece !== "")
    .map((piece) => {
      if (piece === "{text}") return Grammar.literal(facts.text)
      if (piece === "{items}") return Grammar.literal(facts.items.join(", "))
      return /^\{\w+\}$/.test(piece) ? Grammar.oneOf(facts.slots.get(piece.slice(1, -1)) ?? []) : Grammar.literal(piece)
    })
