/** The conversation at the terminal as a machine: one input in, the next state and what to do out. Pure; rules in `Dialogue`. */
import * as Course from "./Course.ts"
import { Action, type Dialogue, type Input, type Step } from "./Dialogue.ts"
import * as Editor from "./Editor.ts"
import * as Meter from "./Meter.ts"
import * as Typing from "./Typing.ts"

export const step = (self: Dialogue, input: Input): Step => {
  switch (input._tag) {
    case "Typed":
      return Typing.step({ ...self, now: Math.max(self.now, input.at) }, input.key)
    case "Ticked":
      return [{ ...self, now: Math.max(self.now, input.at) }, []]
    case "Happened":
      return Course.happened(self, input.event)
    case "Ended":
      return Course.ended(self, input.outcome, input.failure)
    case "Drained":
      return Course.drained(self)
    case "Refused":
      return Course.refused(self, input)
    case "Pulled":
      return Course.pulled(self, input.count)
    case "TakenBack":
      return Course.takenBack(self, input)
    case "Asked":
      return asked(self, input)
    case "AskOver":
      return [{ ...self, question: undefined }, []]
    case "Said":
      return [self, [Action.Print({ lines: input.lines })]]
    case "Seated":
      return [{ ...self, seat: input.seat, meter: input.isNew ? Meter.newSession(self.meter) : self.meter }, []]
    case "Stopped":
      return stopped(self)
  }
}

type Of<T extends Input["_tag"]> = Extract<Input, { readonly _tag: T }>

/** Whatever asks for a run that ends already is told no. */
const asked = (self: Dialogue, { at, keys, text }: Of<"Asked">): Step =>
  self.phase === "working"
    ? [{ ...self, now: at, question: { text, keys, answer: Editor.empty, quietSince: at } }, []]
    : [self, [Action.Answer({ text: undefined })]]

const stopped = (self: Dialogue): Step => {
  if (self.phase === "idle") return [self, [Action.Leave({ how: "cancelled" })]]
  const [next, actions] = Typing.cancel(self)
  return [{ ...next, isLeaving: true }, actions]
}
