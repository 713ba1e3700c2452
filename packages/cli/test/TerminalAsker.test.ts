import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { PassThrough } from "node:stream"
import type * as Json from "@settle/core/model/Json"
import * as Lines from "../src/Lines.ts"
import type { Device } from "../src/Out.ts"
import * as Render from "../src/Render.ts"
import { Show } from "../src/Screen.ts"
import * as TerminalAsker from "../src/TerminalAsker.ts"

const world = (...typed: ReadonlyArray<string>) => {
  const log: Array<string> = []
  const device: Device = {
    isTerminal: true,
    hasColor: false,
    size: () => ({ columns: 80, rows: 24 }),
    write: (text) => Effect.sync(() => void log.push(text))
  }
  const answers = [...typed]
  const render = Render.make({ stdout: device, stderr: device })
  const lines: Lines.Lines = { next: Effect.sync(() => answers.shift()) }
  return { asker: TerminalAsker.make({ render, lines, device }), render, text: () => log.join(""), log }
}

const request = {
  kind: "permission",
  tool: "shell_run",
  arguments: { command: "rm -rf \u202e/tmp/x", long: "z".repeat(2000) },
  reason: "rule",
  rule: { tool: "shell_*", decision: "ask", note: "look twice" },
  suggestion: { tool: "shell_run", under: "/tmp" }
}

const asked = (given: Json.JsonObject, ...typed: ReadonlyArray<string>) => world(...typed).asker.ask(given)

describe("TerminalAsker", () => {
  it.effect("X-SAFE-03 shows what is to be approved neutral, bounded, with length and digest", () =>
    Effect.gen(function* () {
      const at = world("y")
      assert.deepStrictEqual(yield* at.asker.ask(request), { action: "allow-once" })
      assert.match(
        at.text(),
        /^May shell_run run\?\n {2}command: rm -rf ⟨U\+202E⟩\/tmp\/x\n {2}long: z{300} … z{100} \[2000 characters, sha256 [0-9a-f]{12}\]\n {2}a rule wants you to be asked: look twice\ny: once, n: no, a: always, d: never \(shell_run under \/tmp\)\? $/
      )
    })
  )

  it.effect("takes a clear yes for a yes and everything else for a no", () =>
    Effect.gen(function* () {
      const actions = yield* Effect.forEach(["y", "YES", "a", "d", "n", "", "yep", "allow"], (typed) =>
        asked(request, typed)
      )
      assert.deepStrictEqual(
        actions.map(({ action }) => action),
        ["allow-once", "allow-once", "always-allow", "always-deny", "deny-once", "deny-once", "deny-once", "deny-once"]
      )
      assert.deepStrictEqual(yield* asked(request), { action: "deny-once" }, "nobody types")
      const narrow = { kind: "permission", tool: "t", arguments: "not json", reason: "no-match" }
      assert.deepStrictEqual(
        yield* asked(narrow, "a"),
        { action: "deny-once" },
        "nothing is suggested, so nothing is for always"
      )
    })
  )

  it.effect("asks a server's question field by field, typed, and declines what gets no usable answer", () =>
    Effect.gen(function* () {
      const elicit = (properties: Json.JsonObject, required: ReadonlyArray<string> = []) => ({
        kind: "server-elicit",
        server: "files",
        request: {
          method: "elicitation/create",
          params: { message: "Who are\u001b[2K you?", requestedSchema: { type: "object", properties, required } }
        }
      })
      const fields = {
        name: { type: "string" },
        age: { type: "integer" },
        ok: { type: "boolean" },
        color: { enum: ["red", "blue"] },
        note: {}
      }
      const at = world("y", "Ada", "x", "36", "yes", "green", "blue", "")
      assert.deepStrictEqual(yield* at.asker.ask(elicit(fields, ["name", "age"])), {
        action: "accept",
        content: { name: "Ada", age: 36, ok: true, color: "blue" }
      })
      assert.include(at.text(), "files asks: Who are⟨U+001B⟩[2K you?\n")
      assert.deepStrictEqual(yield* asked(elicit(fields), "n"), { action: "decline" })
      assert.deepStrictEqual(yield* asked(elicit({ name: {} }, ["name"]), "y", "", "", ""), { action: "decline" })
      assert.deepStrictEqual(yield* asked({ kind: "other" }), { action: "decline" })
    })
  )

  it.effect("X-SAFE-03 shows the page that a server wants opened, neutral, and accepts once it is open", () =>
    Effect.gen(function* () {
      const params = { mode: "url", message: "Sign here", url: "https://x.test/\u202esign", elicitationId: "e" }
      const page = { kind: "server-elicit", server: "web", request: { method: "elicitation/create", params } }
      const at = world("y")
      assert.deepStrictEqual(yield* at.asker.ask(page), { action: "accept" })
      assert.include(at.text(), "web asks: Sign here\n  https://x.test/⟨U+202E⟩sign\ny: it is open, n: decline?")
      assert.deepStrictEqual(yield* asked(page, "n"), { action: "decline" })
      assert.deepStrictEqual(yield* asked(page), { action: "decline" }, "no answer at all")
    })
  )

  it.effect("asks for a login and for a model's answer, and names the call that it answers for", () =>
    Effect.gen(function* () {
      const at = world("y", "y", "n")
      const login = { kind: "server-login", server: "web", url: "https://x.test/\u202elogin" }
      assert.deepStrictEqual(yield* at.asker.ask(login), { action: "accept" })
      assert.include(at.text(), "web wants a login. Open this page:\n  https://x.test/⟨U+202E⟩login\n")
      assert.deepStrictEqual(yield* at.asker.ask({ kind: "server-sampling", server: "web", request: {} }), {
        action: "accept"
      })
      const named = { kind: "permission", tool: "t", origin: "files", arguments: {}, callId: "c", digest: "d" }
      assert.deepStrictEqual(yield* at.asker.ask(named), { action: "deny-once", callId: "c", digest: "d" })
      assert.include(at.text(), "May t (files) run?")
    })
  )

  it.effect("nothing is drawn while a question stands; what came meanwhile is shown afterwards", () =>
    Effect.gen(function* () {
      const at = world()
      yield* at.render.show(Show.Running({ calls: [{ label: "slow", since: 0, note: "" }] }))
      yield* at.render.aside(
        Effect.gen(function* () {
          yield* at.render.show(Show.Line({ tone: "good", text: "✔ other" }))
          yield* at.render.tick
          at.log.push("<question>")
        })
      )
      assert.deepStrictEqual(at.log, [
        "⋯ slow 0.0 s\n",
        "\u001b[1A\u001b[0J",
        "<question>",
        "✔ other\n",
        "⋯ slow 0.0 s\n",
        "\u001b[1A\u001b[0J",
        "⋯ slow 0.0 s\n"
      ])
    })
  )

  it("knows when there is nobody to ask", () => {
    assert.deepStrictEqual(
      (["tty", "always", "never"] as const).map((ask) => [
        TerminalAsker.isAttended(ask, true),
        TerminalAsker.isAttended(ask, false)
      ]),
      [
        [true, false],
        [true, true],
        [false, false]
      ]
    )
  })

  it.live("Lines gives one line a question, keeps what was typed ahead, and ends with the input", () =>
    Effect.gen(function* () {
      const stream = new PassThrough()
      const lines = Lines.make(stream)
      stream.write("one\r\ntwo\nth")
      assert.strictEqual(yield* lines.next, "one")
      assert.strictEqual(yield* lines.next, "two")
      stream.end("ree")
      assert.strictEqual(yield* lines.next, "three")
      assert.strictEqual(yield* lines.next, undefined)
    })
  )
})
