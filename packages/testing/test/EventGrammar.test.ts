import { assert, describe, it } from "@effect/vitest"
import type * as RunEvent from "@settle/core/model/RunEvent"
import * as EventGrammar from "../src/EventGrammar.ts"
import * as E from "./events.ts"

const legal: ReadonlyArray<readonly [string, ReadonlyArray<RunEvent.Draft>]> = [
  ["one plain round", [E.started, ...E.turn(1), E.completed]],
  ["a log before the start", [E.log, E.started, ...E.turn(1), E.completed]],
  [
    "a round of two calls",
    [
      E.started,
      ...E.turn(1),
      E.call("a"),
      E.call("b"),
      E.toolStarted("a"),
      E.result("a"),
      E.toolStarted("b"),
      E.result("b"),
      ...E.turn(2),
      E.completed
    ]
  ],
  [
    "a group cancelled, one behind it",
    [
      E.started,
      ...E.turn(1),
      E.call("a"),
      E.call("b"),
      E.call("c"),
      E.toolStarted("a"),
      E.toolStarted("b"),
      E.abandoned("a", true),
      E.abandoned("b", true),
      E.abandoned("c", false),
      E.cancelled
    ]
  ],
  [
    "a retry, then a cancel while streaming",
    [
      E.started,
      E.round(1),
      E.attempt(1),
      E.failed(1),
      E.attempt(1, 2),
      E.token("x"),
      E.discarded("cancelled"),
      E.cancelled
    ]
  ],
  [
    "a limit, and the round after it",
    [
      E.started,
      E.round(1),
      E.attempt(1),
      E.succeeded(1),
      { _tag: "LimitReached", limit: "tool-calls" },
      E.discarded("limit"),
      ...E.turn(2),
      E.completed
    ]
  ],
  [
    "a routed limit before asking",
    [
      E.started,
      { _tag: "LimitReached", limit: "tool-rounds" },
      { _tag: "RunCompleted", final: "", reason: "tool-limit" }
    ]
  ],
  [
    "a spent chain",
    [E.started, E.round(1), E.attempt(1), E.failed(1, 1, "abort"), E.discarded("failed"), E.runFailed()]
  ],
  [
    "calls re-entered as round 1",
    [E.started, E.call("a"), E.toolStarted("a"), E.result("a"), ...E.turn(2), E.completed]
  ],
  [
    "a park that a report ends",
    [
      E.started,
      ...E.turn(1),
      E.parked,
      E.log,
      E.resumed("completion"),
      ...E.turn(2),
      E.parked,
      E.resumed("cancelled"),
      E.cancelled
    ]
  ],
  [
    "a compaction at the top of a round",
    [E.started, { _tag: "CompactionStarted" }, { _tag: "CompactionDone", fallback: false }, ...E.turn(1), E.completed]
  ],
  [
    "a question and its answer",
    [
      E.started,
      ...E.turn(1),
      E.call("a"),
      E.toolStarted("a"),
      { _tag: "AskPending", request: { q: 1, r: 2 } },
      { _tag: "AskAnswered", request: { r: 2, q: 1 } },
      E.result("a"),
      ...E.turn(2),
      E.completed
    ]
  ]
]

const illegal: ReadonlyArray<readonly [rule: string, problem: string, ReadonlyArray<RunEvent.Draft>]> = [
  ["terminal", "Log after RunCompleted", [E.started, ...E.turn(1), E.completed, E.log]],
  ["terminal", "no terminal event", [E.started, ...E.turn(1)]],
  ["start", "RoundStarted before RunStarted", [E.round(1)]],
  ["start", "RunStarted twice", [E.started, E.started]],
  ["rounds", "round 2 where 1 is next", [E.started, E.round(2)]],
  ["rounds", "round 3 where 2 is next", [E.started, ...E.turn(1), ...E.turn(3)]],
  ["attempts", "a token outside its attempt", [E.started, E.round(1), E.token("x")]],
  ["attempts", "a token outside its attempt", [E.started, E.round(1), E.attempt(1), E.failed(1), E.token("x")]],
  [
    "attempts",
    "a token outside its attempt",
    [E.started, E.round(1), E.attempt(1), { _tag: "Token", text: "x", attempt: 2 }]
  ],
  ["attempts", "attempt 2 where 1 is next", [E.started, E.round(1), E.attempt(1, 2)]],
  ["attempts", "attempt 2 starts inside attempt 1", [E.started, E.round(1), E.attempt(1), E.attempt(1, 2)]],
  ["attempts", "an attempt of round 2 in round 1", [E.started, E.round(1), E.attempt(2)]],
  [
    "attempts",
    "attempt 2 after an abort",
    [E.started, E.round(1), E.attempt(1), E.failed(1, 1, "abort"), E.attempt(1, 2)]
  ],
  ["attempts", "attempt 1 failed and is not open", [E.started, E.round(1), E.failed(1)]],
  [
    "attempts",
    "the turn is discarded (failed) inside attempt 1",
    [E.started, E.round(1), E.attempt(1), E.discarded("failed")]
  ],
  [
    "turns",
    "RunCompleted after AttemptSucceeded: neither committed nor discarded",
    [E.started, E.round(1), E.attempt(1), E.succeeded(1), E.completed]
  ],
  [
    "turns",
    "AttemptStarted after AttemptSucceeded: neither committed nor discarded",
    [E.started, E.round(1), E.attempt(1), E.succeeded(1), E.attempt(1, 2)]
  ],
  [
    "turns",
    "RunFailed between AssistantMessage and TurnCommitted",
    [E.started, E.round(1), E.attempt(1), E.succeeded(1), E.spoken, E.runFailed()]
  ],
  ["turns", "AssistantMessage when the turn is none", [E.started, E.round(1), E.spoken]],
  ["turns", "TurnDiscarded when the turn is committed", [E.started, ...E.turn(1), E.discarded("failed")]],
  [
    "turns",
    "TurnDiscarded after LimitReached",
    [
      E.started,
      E.round(1),
      E.attempt(1),
      E.succeeded(1),
      { _tag: "LimitReached", limit: "tool-calls" },
      E.discarded("failed")
    ]
  ],
  [
    "calls",
    "ToolCall a of a turn that was not committed",
    [E.started, E.round(1), E.attempt(1), E.succeeded(1), E.call("a")]
  ],
  ["calls", "ToolCall a twice", [E.started, ...E.turn(1), E.call("a"), E.call("a")]],
  [
    "calls",
    "ToolCall b after a call of the turn has started",
    [E.started, ...E.turn(1), E.call("a"), E.toolStarted("a"), E.call("b")]
  ],
  ["calls", "ToolStarted of b, which is not open", [E.started, ...E.turn(1), E.call("a"), E.toolStarted("b")]],
  ["calls", "ToolResult of a, which is announced", [E.started, ...E.turn(1), E.call("a"), E.result("a")]],
  [
    "calls",
    "ToolResult of a, which is not open",
    [E.started, ...E.turn(1), E.call("a"), E.toolStarted("a"), E.result("a"), E.result("a")]
  ],
  [
    "calls",
    "ToolAbandoned of a, which is inFlight",
    [E.started, ...E.turn(1), E.call("a"), E.toolStarted("a"), E.abandoned("a", false)]
  ],
  [
    "calls",
    "a is abandoned as budget-exhausted with dispatched true",
    [E.started, ...E.turn(1), E.call("a"), E.toolStarted("a"), E.abandoned("a", true, "budget-exhausted")]
  ],
  ["calls", "RoundStarted while call a is announced", [E.started, ...E.turn(1), E.call("a"), E.round(2)]],
  [
    "calls",
    "RunCancelled while call a is inFlight",
    [E.started, ...E.turn(1), E.call("a"), E.toolStarted("a"), E.cancelled]
  ],
  [
    "calls",
    "ToolProgress of a, which is not in flight",
    [E.started, ...E.turn(1), E.call("a"), { _tag: "ToolProgress", id: "a", progress: 1 }]
  ],
  ["asks", 'an answer to a question nobody asked: {"q":1}', [E.started, { _tag: "AskAnswered", request: { q: 1 } }]],
  ["compaction", "CompactionDone without CompactionStarted", [E.started, { _tag: "CompactionDone", fallback: true }]],
  ["compaction", "RoundStarted inside a compaction", [E.started, { _tag: "CompactionStarted" }, E.round(1)]],
  ["parks", "RunResumed without RunParked", [E.started, ...E.turn(1), E.resumed("idle")]],
  ["parks", "RunCompleted inside a park", [E.started, ...E.turn(1), E.parked, E.completed]],
  [
    "parks",
    "RoundStarted where RunFailed is due after the park",
    [E.started, ...E.turn(1), E.parked, E.resumed("idle"), E.round(2)]
  ],
  [
    "routes",
    "a choice in round 1 without an offer",
    [
      E.started,
      E.round(1),
      E.attempt(1),
      { _tag: "RouteChosen", round: 1, attempt: 1, action: "none", text: "", usage: {}, latencyMs: 1 }
    ]
  ]
]

describe("EventGrammar", () => {
  for (const [name, drafts] of legal) {
    it(`allows ${name}`, () => {
      const events = E.stamp(drafts)
      const fault = EventGrammar.fault(events)
      assert.isUndefined(fault, fault && EventGrammar.render(fault, events))
    })
  }

  for (const [rule, problem, drafts] of illegal) {
    it(`refuses by the rule of ${rule}: ${problem}`, () => {
      const fault = EventGrammar.fault(E.stamp(drafts))
      assert.deepStrictEqual([fault?.rule, fault?.problem], [rule, problem])
    })
  }

  it("refuses a gap, another run, and time going back", () => {
    const [first, second, ...rest] = E.stamp([E.started, ...E.turn(1), E.completed])
    assert.isDefined(first)
    assert.isDefined(second)
    const problem = (changed: RunEvent.RunEvent) => EventGrammar.fault([first, changed, ...rest])?.problem
    assert.strictEqual(problem({ ...second, seq: 2 }), "seq is 2, not 1")
    assert.strictEqual(problem({ ...second, runId: "other" }), "run id is other, not run")
    assert.strictEqual(problem({ ...second, ts: -1 }), "time went back from 0 to -1")
  })

  it("notices the loss of any event that another one depends on", () => {
    const stand = new Set(["Log", "Token", "LimitReached", "TurnDiscarded", "AskAnswered"])
    for (const [name, drafts] of legal) {
      for (const [index, lost] of drafts.entries()) {
        if (stand.has(lost._tag)) continue
        const rest = drafts.filter((_, i) => i !== index)
        assert.isDefined(EventGrammar.fault(E.stamp(rest)), `${name} without ${index} ${lost._tag}`)
      }
    }
  })

  it("renders a fault with the events before it", () => {
    const events = E.stamp([E.started, E.round(2)])
    const fault = EventGrammar.fault(events)
    assert.isDefined(fault)
    assert.strictEqual(
      EventGrammar.render(fault, events),
      [
        'event 1 breaks the rule "rounds": round 2 where 1 is next',
        '  0 {"kind":"run-started","ts":"1970-01-01T00:00:00.000Z","runId":"run","seq":0,"messageCount":1}',
        '  1 {"kind":"round-started","ts":"1970-01-01T00:00:00.001Z","runId":"run","seq":1,"round":2}'
      ].join("\n")
    )
  })
})
