/**
 * One model evaluating one conversation at a time, step by step.
 *
 * V1. A generator yields after every few tokens and nowhere else suspends: whoever drives it may stop there for good, and the
 *     session is then as good as before.
 * V2. A prompt that begins like the last one is evaluated from where they part; what is read from the logits is the same.
 */
import * as Forward from "./Forward.ts"
import type { Model } from "./Model.ts"

export interface Session {
  readonly model: Model
  readonly memory: Forward.Memory
  /** Tokens evaluated in this session, for measurements. */
  evaluated: number
}

/** What a generator of this folder yields: tokens went through the model, or visible text was written. */
export type Step = { readonly _tag: "Evaluated" } | { readonly _tag: "Text"; readonly text: string }

export type Steps<A> = Generator<Step, A, void>

const evaluated: Step = { _tag: "Evaluated" }
/** Tokens between two yields: about two milliseconds. */
const stride = 4

export const make = (model: Model): Session => ({ model, memory: Forward.memory(model.llama), evaluated: 0 })

/** How many tokens of a prompt it still holds. At least one is left to evaluate, since the logits are those of the last one. */
export const held = ({ memory }: Session, prompt: ReadonlyArray<number>): number => {
  const most = Math.min(memory.tokens.length, prompt.length - 1)
  let same = 0
  while (same < most && memory.tokens[same] === prompt[same]) same++
  return same
}

/** Makes the session one of exactly this prompt; answers how many of its tokens were still held. */
export function* begin(self: Session, prompt: ReadonlyArray<number>): Steps<number> {
  const same = held(self, prompt)
  Forward.rewind(self.memory, same)
  yield* feed(self, prompt.slice(same))
  return same
}

/** Evaluates further tokens; afterwards the logits are those of the last one. */
export function* feed(self: Session, tokens: ReadonlyArray<number>): Steps<void> {
  for (let i = 0; i < tokens.length; i += 2) {
    const [first, second] = [tokens[i], tokens[i + 1]]
    if (first === undefined) return
    const wanted = i + 2 >= tokens.length
    Forward.evaluate(self.model.llama, self.memory, {
      tokens: second === undefined ? [first] : [first, second],
      wanted
    })
    self.evaluated += second === undefined ? 1 : 2
    if (wanted || (i + 2) % stride === 0) yield evaluated
  }
}
