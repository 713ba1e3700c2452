/** What became of the calls that the last process left open, for people. Pure. */
import type { OpenCall } from "@settle/store-fs/Doctor"
import * as Figures from "./Figures.ts"
import * as Neutral from "@settle/core/decide/Neutral"
import type { Tone } from "./Screen.ts"

export interface Line {
  readonly tone: Tone
  readonly text: string
}

/** One line a call: never ran, was running, or finished. Nothing that was running is called failed. */
export const lines = (calls: ReadonlyArray<OpenCall>): ReadonlyArray<Line> => calls.map(line)

const line = (call: OpenCall): Line => {
  const what = Neutral.call(call.tool, call.arguments)
  switch (call._tag) {
    case "NeverRan":
      return { tone: "quiet", text: `– ${what}: never ran` }
    case "WasRunning":
      return { tone: "warning", text: `? ${what}: was running, outcome unknown (${classes[call.idempotency]})` }
    case "SettleLost":
      return { tone: "good", text: `✔ ${what}: finished (${call.outcome}), only the line that says so was lost` }
  }
}

const classes = {
  "read-only": "read-only: asking again is harmless",
  idempotent: "idempotent: doing it again changes nothing more",
  destructive: "destructive: look before doing it again",
  unknown: "it may have taken effect: look before doing it again"
} as const

export const headline = (calls: ReadonlyArray<OpenCall>): string =>
  `The last process ended with ${Figures.plural(calls.length, "call")} open:`
