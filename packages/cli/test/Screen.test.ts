import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import type * as RunEvent from "@settle/core/model/RunEvent"
import * as Figures from "../src/Figures.ts"
import * as Screen from "../src/Screen.ts"

const stamp = (drafts: ReadonlyArray<RunEvent.Draft>): ReadonlyArray<RunEvent.RunEvent> =>
  drafts.map((draft, seq) => ({ ...draft, runId: "r", seq, ts: seq * 1000 }))

const play = (drafts: ReadonlyArray<RunEvent.Draft>): ReadonlyArray<Screen.Show> => {
  let screen = Screen.empty
  return stamp(drafts).flatMap((event) => {
    const [next, shows] = Screen.step(screen, event)
    screen = next
    return shows
  })
}

/** What stands at the end, as a terminal would have it: withdrawn text is gone. */
const standing = (shows: ReadonlyArray<Screen.Show>): ReadonlyArray<string> => {
  const out: Array<string> = []
  let open = ""
  for (const show of shows) {
    if (show._tag === "Text") open += show.text
    if (show._tag === "Withdraw") {
      assert.strictEqual(open, show.text, "exactly what was shown is withdrawn")
      open = ""
    }
    if (show._tag === "Turn") {
      assert.strictEqual(open, show.streamed)
      out.push(show.text)
      open = ""
    }
    if (show._tag === "Line") {
      assert.strictEqual(open, "", `no line stands between the tokens of an attempt: ${show.text}`)
      out.push(show.text)
    }
  }
  return open === "" ? out : [...out, open]
}

const attempt = (n = 1, backendIndex = 0) =>
  ({ _tag: "AttemptStarted", round: 1, attempt: n, backendIndex, model: "m" }) as const
const token = (text: string) => ({ _tag: "Token", text }) as const
const succeeded = { _tag: "AttemptSucceeded", round: 1, attempt: 1, backendIndex: 0, usage: {} } as const
const failed = (disposition: "retry-same" | "advance" | "abort", backoff?: number) =>
  ({
    _tag: "AttemptFailed",
    round: 1,
    attempt: 1,
    backendIndex: 0,
    model: "m",
    error: "the stream was cut",
    disposition,
    ...(backoff === undefined ? {} : { backoff })
  }) as const
const said = (content: string, calls: ReadonlyArray<{ id: string; name: string; arguments: string }> = []) =>
  ({
    _tag: "AssistantMessage",
    message: { role: "assistant", content, ...(calls.length > 0 ? { toolCalls: calls } : {}) }
  }) as const
const done = { _tag: "RunCompleted", final: "x" } as const

describe("Screen", () => {
  it("L-STREAM-01 withdraws every token of a failed attempt and keeps those of the one that succeeded", () => {
    const shows = play([
      attempt(),
      token("Hal"),
      token("f"),
      failed("retry-same", 2),
      attempt(2),
      token("Whole"),
      succeeded,
      said("Whole"),
      done
    ])
    assert.deepStrictEqual(standing(shows), ["↻ m: the stream was cut; sending again in 2.0 s", "Whole"])
    assert.deepStrictEqual(
      shows.filter((show) => show._tag === "Withdraw").map((show) => show.text),
      ["Half"]
    )
  })

  it("L-STREAM-01 withdraws the tokens of a turn that is discarded after it succeeded", () => {
    const shows = play([attempt(), token("x"), succeeded, { _tag: "TurnDiscarded", reason: "limit" }, done])
    assert.deepStrictEqual(standing(shows), ["that turn was not kept: a limit was reached"])
  })

  it("says calmly what a failed attempt leads to", () => {
    assert.deepStrictEqual(
      standing(play([attempt(), failed("advance"), attempt(1, 1), failed("abort"), failed("retry-same")])),
      [
        "↷ m: the stream was cut; going on with the next model",
        "↛ m: the stream was cut",
        "↻ m: the stream was cut; sending again"
      ]
    )
  })

  it("says of the last model of a chain that it is given up, and of none that another one follows", () => {
    const end = { _tag: "RunFailed", error: "attempts spent", attempts: [] } as const
    const log = { _tag: "Log", level: "warning", logger: "files", data: "disk is nearly full" } as const
    assert.deepStrictEqual(standing(play([attempt(), token("Ha"), failed("advance"), log, end])), [
      "files: disk is nearly full",
      "↷ m: the stream was cut; giving up"
    ])
    assert.deepStrictEqual(standing(play([attempt(), failed("advance"), attempt(2), failed("advance"), end])), [
      "↷ m: the stream was cut; sending again",
      "↷ m: the stream was cut; giving up"
    ])
  })

  it("holds lines back while tokens are open, and gives them right after", () => {
    const log = { _tag: "Log", level: "warning", logger: "files", data: "disk is nearly full" } as const
    const shows = play([attempt(), token("A"), log, token("B"), succeeded, said("AB"), log, done])
    assert.deepStrictEqual(standing(shows), ["AB", "files: disk is nearly full", "files: disk is nearly full"])
  })

  it("gives every call one line at its end, with its state and its time", () => {
    const call = (id: string) => ({ _tag: "ToolCall", id, name: "fs_write", arguments: `{"path":"${id}"}` }) as const
    const started = (id: string) => ({ _tag: "ToolStarted", id, name: "fs_write" }) as const
    const shows = play([
      call("a"),
      call("b"),
      call("c"),
      call("d"),
      started("a"),
      { _tag: "ToolProgress", id: "a", progress: 1, total: 3, message: "one" },
      { _tag: "ToolResult", id: "a", name: "fs_write", content: "ok", isError: false },
      started("b"),
      { _tag: "ToolResult", id: "b", name: "fs_write", content: "\n no space left\nmore", isError: true },
      started("c"),
      { _tag: "ToolAbandoned", id: "c", name: "fs_write", reason: "deadline", dispatched: true },
      { _tag: "ToolAbandoned", id: "d", name: "fs_write", reason: "deadline", dispatched: false },
      done
    ])
    assert.deepStrictEqual(standing(shows), [
      `✔ fs_write(path: "a") 2.0 s`,
      `✘ fs_write(path: "b") 1.0 s: no space left`,
      `? fs_write(path: "c") 1.0 s: outcome unknown (deadline)`,
      `– fs_write(path: "d"): did not run (deadline)`
    ])
    const running = shows.filter((show) => show._tag === "Running").map((show) => show.calls)
    assert.deepStrictEqual(running[0], [{ label: `fs_write(path: "a")`, note: "", since: 4000 }])
    assert.deepStrictEqual(running[1], [{ label: `fs_write(path: "a")`, note: "1 of 3, one", since: 4000 }])
    assert.deepStrictEqual(running.at(-1), [])
  })

  it("tells commentary before calls from an answer", () => {
    const shows = play([
      attempt(),
      token("Let me look."),
      succeeded,
      said("Let me look.", [{ id: "a", name: "ls", arguments: "{}" }]),
      attempt(),
      succeeded,
      said("Done.")
    ])
    assert.deepStrictEqual(
      shows.filter((show) => show._tag === "Turn").map(({ isAnswer, text }) => [text, isAnswer]),
      [
        ["Let me look.", false],
        ["Done.", true]
      ]
    )
  })

  it("X-SAFE-03 neutralises names, arguments, errors and logs from outside", () => {
    const shows = play([
      { _tag: "ToolCall", id: "a", name: "rm\u001b[2K", arguments: `{"path":"\\u202etxt.exe"}` },
      { _tag: "ToolResult", id: "a", name: "rm", content: "\u0007bell", isError: true },
      { _tag: "Log", level: "error", data: "\u001b]0;title\u0007" },
      { ...failed("abort"), error: "bad\u001b[31m" },
      done
    ])
    assert.deepStrictEqual(standing(shows), [
      `✘ rm⟨U+001B⟩[2K(path: "⟨U+202E⟩txt.exe"): ⟨U+0007⟩bell`,
      "⟨U+001B⟩]0;title⟨U+0007⟩",
      "↛ m: bad⟨U+001B⟩[31m"
    ])
  })

  it("tells of limits, compactions, waiting, artifacts and children", () => {
    const inner = (event: object) =>
      ({
        _tag: "Subagent",
        agentId: "k",
        agentType: "reader",
        inner: { runId: "c", seq: 0, ts: "2026-01-01T00:00:00.000Z", ...event }
      }) as RunEvent.Draft
    const artifact = { file: "op.txt", digest: "d", bytes: 9, chars: 81234, elidedChars: 1 }
    const shows = play([
      { _tag: "LimitReached", limit: "tool-rounds", max: 3 },
      { _tag: "CompactionDone", fallback: false, tokensBefore: 31000, tokensAfter: 12000 },
      { _tag: "CompactionDone", fallback: true },
      { _tag: "RunParked", outstanding: 2, ops: [] },
      { _tag: "RunResumed", reason: "completion", parkedSeconds: 65 },
      { _tag: "ToolResult", id: "z", name: "cat", content: "…", isError: false, artifact },
      inner({ kind: "tool-result", id: "i", name: "ls", content: "", isError: false }),
      inner({ kind: "run-completed", final: "found" }),
      { _tag: "RunCancelled" }
    ])
    assert.deepStrictEqual(standing(shows), [
      "the limit of 3 tool rounds is reached: no more calls, an answer from what is there",
      "older turns were summarised: 31,000 → 12,000 tokens",
      "older turns were dropped without a summary",
      "waiting for 2 background operations",
      "going on: completion after 1 min 5 s",
      "✔ cat, 81,234 characters kept in op.txt",
      "  reader: ✔ ls",
      "  reader: done",
      "cancelled"
    ])
  })

  it.effect.prop(
    "L-STREAM-01 whatever the attempts do, what stands is what was committed",
    { attempts: Schema.Array(Schema.Struct({ tokens: Schema.Array(Schema.String), ok: Schema.Boolean })) },
    ({ attempts }) =>
      Effect.sync(() => {
        const drafts = attempts.flatMap(({ ok, tokens }): ReadonlyArray<RunEvent.Draft> => [
          attempt(),
          ...tokens.map(token),
          ...(ok ? [succeeded, said(tokens.join(""))] : [failed("retry-same")])
        ])
        const kept = attempts.filter(({ ok }) => ok).map(({ tokens }) => tokens.join(""))
        const stood = play(drafts)
          .filter((show) => show._tag === "Turn")
          .map((show) => show.text)
        assert.deepStrictEqual(stood, kept)
        assert.strictEqual(standing(play(drafts)).length, attempts.length)
      })
  )
})

describe("Figures", () => {
  it("says times, counts and money as people do", () => {
    assert.deepStrictEqual([0, 340, 9940, 42_400, 125_000, 3_780_000, 7_200_000].map(Figures.duration), [
      "0.0 s",
      "0.3 s",
      "9.9 s",
      "42 s",
      "2 min 5 s",
      "1 h 3 min",
      "2 h"
    ])
    assert.strictEqual(Figures.count(1234567), "1,234,567")
    assert.deepStrictEqual([0, 1.5, 0.0042].map(Figures.cost), ["$0.00", "$1.50", "$0.0042"])
    assert.strictEqual(
      Figures.spend(2, { totalTokens: 3412, wallClock: 12.3, complete: true, cost: 0.0123, costComputed: true }),
      "2 rounds · 3,412 tokens · $0.0123 by list price · 12 s"
    )
    assert.strictEqual(
      Figures.spend(1, { totalTokens: 10, wallClock: 1, complete: false }),
      "1 round · 10 tokens (some sends reported none) · 1.0 s"
    )
  })
})
