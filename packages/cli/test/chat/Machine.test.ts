import { assert, describe, it } from "@effect/vitest"
import { Action } from "../../src/chat/Dialogue.ts"
import { Desk } from "./Desk.ts"

const prompts = (desk: Desk) => desk.actions.filter(Action.$is("Start")).map(({ prompt }) => prompt)

const question = "May files_write run?\n  path: a\ny: once, n: no? "

describe("a conversation: lines, stops and turns", () => {
  it("T16 a line steers the run that works; after Esc every line is for the next turn, in the order typed", () => {
    const desk = new Desk().type("go\r").type("steer\r").type("\u001b").type("one\r").type("two\r")
    assert.deepStrictEqual(desk.tags(), [
      "Remember",
      "Start",
      "Remember",
      "Steer",
      "TakeBack",
      "Cancel",
      "Remember",
      "Remember"
    ])
    assert.deepStrictEqual(desk.dialogue.queued, ["one", "two"])
    assert.deepStrictEqual(desk.standing, ["› go", "↩ not sent, up brings it back: steer"])
    desk.end("cancelled")
    assert.deepStrictEqual(prompts(desk), ["go", "one"])
    assert.deepStrictEqual(desk.end().dialogue.phase, "working")
    assert.deepStrictEqual(prompts(desk), ["go", "one", "two"])
  })

  it("T16 what the run took before the stop is said once, and never again", () => {
    const desk = new Desk().type("go\r").type("taken\r").type("not taken\r")
    desk.mailbox.splice(0, 1)
    desk.type("\u001b").input({ _tag: "Pulled", count: 1 }).event({ _tag: "RunCancelled" }).end("cancelled")
    assert.include(desk.standing, "↩ not sent, up brings it back: not taken")
    assert.strictEqual(desk.type("\u001b[A").dialogue.editor.text, "not taken")
    assert.deepStrictEqual(prompts(desk), ["go"], "nothing starts by itself after a stop")
    assert.strictEqual(desk.standing.filter((line) => line === "› taken").length, 1)
  })

  it("T16 a stop leaves the line that is being typed as it is, and a second Esc does nothing", () => {
    const desk = new Desk().type("go\r").type("half a li").type("\u001b").type("\u001b").type("ne")
    assert.strictEqual(desk.dialogue.editor.text, "half a line")
    assert.strictEqual(desk.tags().filter((tag) => tag === "Cancel").length, 1)
    desk.end("cancelled").type("\u001b")
    assert.strictEqual(desk.dialogue.phase, "idle")
    assert.strictEqual(desk.tags().filter((tag) => tag === "Cancel").length, 1)
  })

  it("what a run that completed did not take becomes the next turn, before what was queued with Tab", () => {
    const desk = new Desk().type("go\r").type("later\t").type("late\r").type("r").end()
    assert.deepStrictEqual(prompts(desk), ["go", "late"])
    desk.end()
    assert.deepStrictEqual(prompts(desk), ["go", "late", "later"])
    assert.strictEqual(desk.dialogue.editor.text, "r")
  })

  it("what a run that failed did not take is said to be unsent, and is in the history", () => {
    const desk = new Desk().type("go\r").type("later\t").type("late\r").end("failed", "The run failed: no connection.")
    assert.deepStrictEqual(prompts(desk), ["go"])
    assert.deepStrictEqual(
      desk.standing.filter((line) => line.startsWith("↩")),
      ["↩ not sent, up brings it back: late", "↩ not sent, up brings it back: later"]
    )
    assert.deepStrictEqual(desk.dialogue.history.entries, ["go", "later", "late"])
    assert.include(desk.standing, "The run failed: no connection.")
  })

  it("L-RUN-03 the next turn begins when the last one is drained, not when it ended", () => {
    const desk = new Desk().type("go\r").type("next\t")
    desk.input({
      _tag: "Ended",
      outcome: { outcome: "completed", final: "", messages: [], rounds: 1, attempts: [] },
      failure: ""
    })
    assert.deepStrictEqual(prompts(desk), ["go"])
    assert.include(desk.seen().at(-1), "waiting for the last calls")
    desk.input({ _tag: "Drained" })
    assert.deepStrictEqual(prompts(desk), ["go", "next"])
  })

  it("a run that cannot begin gives its prompt back", () => {
    const desk = new Desk().type("go\r").input({ _tag: "Refused", prompt: "go", detail: "It is locked." })
    assert.deepStrictEqual([desk.dialogue.phase, desk.dialogue.editor.text], ["idle", "go"])
    assert.include(desk.standing, "It is locked.")
  })

  it("Ctrl-C stops the run, the second one leaves; without a run it empties the line first", () => {
    const working = new Desk().type("go\r").type("\u0003")
    assert.deepStrictEqual(working.tags().slice(-2), ["TakeBack", "Cancel"])
    assert.deepStrictEqual(working.type("\u0003").actions.at(-1), Action.Leave({ how: "at-once" }))
    const stopped = new Desk().type("go\r").type("\u0003").end("cancelled")
    assert.deepStrictEqual(stopped.type("\u0003").actions.at(-1), Action.Leave({ how: "cancelled" }), "it was quick")
    const idle = new Desk().type("abc").type("\u0003")
    assert.deepStrictEqual([idle.dialogue.editor.text, idle.tags()], ["", []])
    assert.include(idle.seen().at(-1), "Ctrl-C again leaves")
    idle.now += 5000
    assert.deepStrictEqual(idle.type("\u0003").tags(), [], "too late to be the second")
    assert.deepStrictEqual(idle.type("\u0003").actions.at(-1), Action.Leave({ how: "done" }))
    assert.deepStrictEqual(new Desk().type("\u0003").type("x").type("\u0003").tags(), [], "something else between")
  })

  it("Ctrl-D leaves on an empty line and no run, and deletes in a line", () => {
    assert.deepStrictEqual(new Desk().type("\u0004").actions, [Action.Leave({ how: "done" })])
    assert.strictEqual(new Desk().type("ab\u001b[D\u0004").dialogue.editor.text, "a")
    assert.deepStrictEqual(new Desk().type("go\r").type("\u0004").tags(), ["Remember", "Start"])
  })

  it("a signal stops the run and leaves when it is drained", () => {
    const desk = new Desk().type("go\r").type("x\t").input({ _tag: "Stopped" })
    assert.strictEqual(desk.tags().at(-1), "Cancel")
    assert.deepStrictEqual(desk.end("cancelled").actions.at(-1), Action.Leave({ how: "cancelled" }))
    assert.deepStrictEqual(new Desk().input({ _tag: "Stopped" }).actions, [Action.Leave({ how: "cancelled" })])
  })

  it("a backslash before Enter, Alt-Enter and a paste make lines of one turn", () => {
    assert.deepStrictEqual(prompts(new Desk().type("a\\\rb\u001b\rc\r")), ["a\nb\nc"])
    assert.deepStrictEqual(prompts(new Desk().type("\u001b[200~x\r\ny\u001b[201~\r")), ["x\ny"])
    assert.deepStrictEqual(prompts(new Desk().type("C:\\\\\r")), ["C:\\\\"], "an escaped backslash is one")
  })

  it("up and down walk through the history and give the draft back", () => {
    const desk = new Desk(["old", "older\nlines"]).type("draft")
    assert.strictEqual(desk.type("\u001b[A").dialogue.editor.text, "older\nlines")
    assert.strictEqual(desk.type("\u001b[A").dialogue.editor.text, "older\nlines", "first to its first line")
    assert.strictEqual(desk.type("\u001b[A").dialogue.editor.text, "old")
    assert.strictEqual(desk.type("\u001b[B\u001b[B\u001b[B").dialogue.editor.text, "draft")
  })
})

describe("a conversation: commands", () => {
  it("an unknown command stays in the line, with the nearest one named", () => {
    const desk = new Desk().type("/modle x\r")
    assert.deepStrictEqual([desk.tags(), desk.dialogue.editor.text], [[], "/modle x"])
    assert.include(desk.seen(80).at(-1), "Did you mean /model?")
  })

  it("what moves the conversation has to wait for the run; what only looks does not", () => {
    const desk = new Desk().type("go\r").type("/clear\r").type("/tools\r")
    assert.deepStrictEqual(
      desk.actions.filter(Action.$is("Command")).map(({ command }) => command.name),
      ["tools"]
    )
    desk.end().type("/clear\r")
    assert.deepStrictEqual(desk.actions.at(-1), Action.Command({ command: { name: "clear" } }))
  })

  it("/cost adds runs up, and says what is not known", () => {
    const desk = new Desk().type("/cost\r")
    assert.deepStrictEqual(desk.standing.slice(-2), [
      "  spent    0 tokens, no cost was reported, in 0 runs",
      "  context  nothing was sent yet of 1,000"
    ])
    const usage = { promptTokens: 400, completionTokens: 100, cost: 0.02 }
    desk.type("go\r")
    desk.event({ _tag: "RunStarted", messageCount: 1 })
    desk.event({ _tag: "AttemptSucceeded", round: 1, attempt: 1, backendIndex: 0, usage })
    assert.include(desk.seen(100).at(-1), "500 tokens · $0.0200 · context 50 %")
    desk.end().type("/cost\r")
    assert.deepStrictEqual(desk.standing.slice(-2), [
      "  spent    500 tokens, $0.0200, in 1 run",
      "  context  500 tokens of 1,000, 50 %"
    ])
  })
})

describe("a conversation: questions", () => {
  it("a key answers, when nothing was typed just before it", () => {
    const desk = new Desk().type("go\r").ask(question, "yn").type("y")
    assert.deepStrictEqual(desk.actions.at(-1), Action.Answer({ text: "y" }))
    assert.isUndefined(desk.dialogue.question)
  })

  it("X-SAFE-03 a person in the middle of typing answers nothing: neither the first key, nor a paste, nor Enter", () => {
    const desk = new Desk().type("go\r").type("look at m").ask(question, "yn").atOnce("y notes")
    assert.strictEqual(desk.dialogue.editor.text, "look at my notes")
    desk.now += 300
    desk.atOnce("y").atOnce("\u001b[200~y\u001b[201~").type("\u001b[200~y\u001b[201~").atOnce("\r")
    assert.notInclude(desk.tags(), "Answer")
    assert.deepStrictEqual(desk.actions.at(-1), Action.Steer({ text: "look at my notesyyy" }))
    assert.deepStrictEqual(desk.type("n").actions.at(-1), Action.Answer({ text: "n" }))
  })

  it("any other key is no answer", () => {
    const desk = new Desk().type("go\r").ask(question, "yn").type("a").type("\r").type("yes")
    assert.notInclude(desk.tags(), "Answer")
    assert.isDefined(desk.dialogue.question)
  })

  it("Esc answers with nothing and stops the run", () => {
    const desk = new Desk().type("go\r").ask(question, "yn").type("\u001b")
    assert.deepStrictEqual(desk.actions.slice(-2), [Action.Cancel(), Action.Answer({ text: undefined })])
    assert.deepStrictEqual(desk.ask(question, "yn").actions.at(-1), Action.Answer({ text: undefined }), "nor later")
  })

  it("a form is answered with a line of its own; the draft stays", () => {
    const desk = new Desk().type("go\r").type("draft").ask("  name: ", undefined).type("Ada\u007fa")
    assert.include(desk.seen(), "  name: Ada")
    assert.deepStrictEqual(desk.type("\r").actions.at(-1), Action.Answer({ text: "Ada" }))
    assert.strictEqual(desk.dialogue.editor.text, "draft")
  })
})
