/**
 * What a key does in the conversation: the question first, then what acts on the run, then the line itself. Pure.
 *
 * T1. Enter steers a run that works, and submits otherwise; Tab submits always (D1 of `Dialogue`).
 * T2. A key is taken for an answer only when nothing was typed for `quiet` before it; any other key is text (D4).
 */
import * as Neutral from "@settle/core/decide/Neutral"
import * as Figures from "../Figures.ts"
import { Action, type Dialogue, type Line, type Question, type Step } from "./Dialogue.ts"
import * as Editor from "./Editor.ts"
import * as History from "./History.ts"
import { Key, type Name } from "./Keys.ts"
import * as Meter from "./Meter.ts"
import * as Slash from "./Slash.ts"

/** Milliseconds without a key before a key can be an answer. */
export const quiet = 500
/** Milliseconds in which a second Ctrl-C leaves. */
export const twice = 3000

export const step = (self: Dialogue, key: Key): Step => {
  const { question } = self
  const answered = question === undefined ? undefined : answering(self, question, key)
  if (answered !== undefined) return answered
  const [next, actions] = key._tag === "Named" ? commanded(self, key.name, key) : edited(self, key)
  return [{ ...next, question: next.question && { ...next.question, quietSince: self.now } }, actions]
}

const answering = (self: Dialogue, question: Question, key: Key): Step | undefined => {
  const isStop = key._tag === "Named" && (key.name === "escape" || key.name === "interrupt")
  if (question.keys === undefined && !isStop) return answerLine(self, question, key)
  if (question.keys === undefined || key._tag !== "Text") return undefined
  const isMeant = key.text.length === 1 && question.keys.includes(key.text.toLowerCase())
  if (!isMeant || self.now - question.quietSince < quiet) return undefined
  return [{ ...self, question: undefined }, [Action.Answer({ text: key.text.toLowerCase() })]]
}

const answerLine = (self: Dialogue, question: Question, key: Key): Step => {
  if (key._tag === "Named" && key.name === "enter") {
    return [{ ...self, question: undefined }, [Action.Answer({ text: question.answer.text })]]
  }
  return [{ ...self, question: { ...question, answer: Editor.step(question.answer, key) ?? question.answer } }, []]
}

const commanded = (self: Dialogue, name: Name, key: Key): Step => {
  switch (name) {
    case "enter":
      return enter(self)
    case "tab":
      return tab(self)
    case "escape":
      return self.phase === "working" ? cancel(self) : [{ ...self, hint: "" }, []]
    case "interrupt":
      return interrupt(self)
    case "end-of-input":
      return endOfInput(self, key)
    case "suspend":
      return [self, [Action.Suspend()]]
    case "redraw":
      return [self, [Action.Redraw()]]
    case "up":
    case "down":
      return walked(self, name, key)
    default:
      return edited(self, key)
  }
}

const edited = (self: Dialogue, key: Key): Step => [
  { ...self, editor: Editor.step(self.editor, key) ?? self.editor, hint: "", armed: undefined },
  []
]

const walked = (self: Dialogue, name: "up" | "down", key: Key): Step => {
  const inside = Editor.step(self.editor, key)
  if (inside !== undefined) return [{ ...self, editor: inside }, []]
  const found = name === "up" ? History.older(self.history, self.editor.text) : History.newer(self.history)
  if (found === undefined) return [self, []]
  const [history, text] = found
  return [{ ...self, history, editor: Editor.withText(self.editor, text) }, []]
}

/** Ctrl-D deletes in a line and leaves on an empty one. */
const endOfInput = (self: Dialogue, key: Key): Step => {
  if (self.editor.text !== "") return edited(self, key._tag === "Named" ? Key.Named({ name: "delete" }) : key)
  return self.phase === "idle"
    ? [self, [Action.Leave({ how: "done" })]]
    : [{ ...self, hint: "A run works: Esc cancels it" }, []]
}

const interrupt = (self: Dialogue): Step => {
  const first = self.armed !== undefined && self.now - self.armed.at < twice ? self.armed : undefined
  if (first !== undefined) {
    const how = self.phase !== "idle" ? "at-once" : first.stopped ? "cancelled" : "done"
    return [self, [Action.Leave({ how })]]
  }
  const isWorking = self.phase === "working"
  const armed: Dialogue = { ...self, armed: { at: self.now, stopped: isWorking }, hint: "Ctrl-C again leaves" }
  if (isWorking) return cancel(armed)
  return [self.phase === "idle" ? { ...armed, editor: Editor.withText(self.editor, "") } : armed, []]
}

/** Asks the run to stop. What it has not taken, and what should have followed it, goes with it (D2). */
export const cancel = (self: Dialogue): Step => {
  if (self.phase !== "working") return [self, []]
  const answer = self.question === undefined ? [] : [Action.Answer({ text: undefined })]
  return [
    { ...self, phase: "cancelling", queued: [], question: undefined },
    [Action.TakeBack({ to: "unsent" }), ...unsent(self.queued), Action.Cancel(), ...answer]
  ]
}

/** Says what was not sent. */
export const unsent = (texts: ReadonlyArray<string>): ReadonlyArray<Action> =>
  texts.length === 0
    ? []
    : [
        Action.Print({
          lines: texts.map((text) => ({
            tone: "warning",
            text: `↩ not sent, up brings it back: ${Neutral.bounded(text, 200)}`
          }))
        })
      ]

const enter = (self: Dialogue): Step => {
  const { text } = self.editor
  if (/(^|[^\\])(\\\\)*\\$/.test(text)) {
    const broken = Editor.insert({ ...self.editor, text: text.slice(0, -1), cursor: text.length - 1 }, "\n")
    return [{ ...self, editor: broken }, []]
  }
  return taken(self, self.phase === "working" ? steered : submitted)
}

const tab = (self: Dialogue): Step => {
  const completed = Slash.complete(self.editor.text)
  if (completed !== undefined) return [{ ...self, editor: Editor.withText(self.editor, completed) }, []]
  return self.phase === "idle" || self.editor.text.startsWith("/") ? [self, []] : taken(self, submitted)
}

/** The line leaves the input and becomes a command or words. */
const taken = (self: Dialogue, send: (self: Dialogue, text: string) => Step): Step => {
  const { text } = self.editor
  if (text.trim() === "") return [self, []]
  const emptied: Dialogue = {
    ...self,
    editor: Editor.withText(self.editor, ""),
    history: History.add(self.history, text),
    hint: "",
    armed: undefined
  }
  const remember = History.isKept(self.history, text) ? [Action.Remember({ text })] : []
  const slash = Slash.parse(text)
  switch (slash._tag) {
    case "Wrong":
      return [{ ...self, hint: slash.detail }, []]
    case "Command": {
      const [next, actions] = ordered(emptied, slash.command)
      return [next, [...remember, Action.Print({ lines: words(text) }), ...actions]]
    }
    case "Words": {
      const [next, actions] = send(emptied, slash.text)
      return [next, [...remember, ...actions]]
    }
  }
}

const steered = (self: Dialogue, text: string): Step => [
  { ...self, steers: [...self.steers, text] },
  [Action.Steer({ text })]
]

const submitted = (self: Dialogue, text: string): Step =>
  self.phase === "idle" ? begin(self, text) : [{ ...self, queued: [...self.queued, text] }, []]

/** A turn begins. */
export const begin = (self: Dialogue, prompt: string): Step => [
  { ...self, phase: "working", since: self.now },
  [Action.Print({ lines: words(prompt) }), Action.Start({ prompt })]
]

/** What the person said, as it stands above. */
export const words = (text: string): ReadonlyArray<Line> =>
  text.split("\n").map((line, index) => ({ tone: "strong", text: `${index === 0 ? "›" : " "} ${line}` }))

const ordered = (self: Dialogue, command: Slash.Command): Step => {
  if (self.phase !== "idle" && Slash.moves.has(command.name)) {
    return [{ ...self, hint: `/${command.name} has to wait: a run works, and Esc cancels it` }, []]
  }
  switch (command.name) {
    case "help":
      return [self, [Action.Print({ lines: Slash.help.map((text) => ({ tone: "plain", text })) })]]
    case "cost":
      return [self, [Action.Print({ lines: Meter.lines(self.meter, self.seat.window).map(quietly) })]]
    case "quit":
      return self.phase === "idle"
        ? [self, [Action.Leave({ how: "done" })]]
        : [{ ...self, hint: `A run works since ${Figures.duration(self.now - self.since)}: Esc cancels it` }, []]
    default:
      return [self, [Action.Command({ command })]]
  }
}

const quietly = (text: string): Line => ({ tone: "plain", text })
