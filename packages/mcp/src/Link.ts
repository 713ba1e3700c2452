/**
 * One connection as the client sees it: the SDK's transport, and what the SDK does not tell.
 *
 * Progress and log notifications are heard here and not through the SDK, which hands notifications on a turn later than answers:
 * the last word before an answer would be lost.
 */
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import type * as Json from "@settle/core/model/Json"
import type * as Ledger from "./Ledger.ts"

export interface Taps {
  /** True: heard, and of no interest to the SDK. */
  readonly notification: (method: string, params: Json.JsonObject) => boolean
  /** The request of this id has its answer, whatever else is still in the same read. */
  readonly answered: (id: number) => void
  /** A line of its error output. */
  readonly stderr: (line: string) => void
  /** A line of its output that is no message. */
  readonly noise: (line: string) => void
}

/** What it printed beside the protocol, bounded. */
export interface Evidence {
  /** Lines on stdout that were no messages, all of them counted, the first few kept (M1). */
  readonly skipped: number
  readonly samples: ReadonlyArray<string>
  readonly stderrLines: number
  /** The last lines of its error output. */
  readonly stderr: ReadonlyArray<string>
  /** Answers that belonged to no open request. */
  readonly strays: number
}

export interface Link {
  readonly transport: Transport
  readonly ledger: Ledger.Ledger
  readonly evidence: () => Evidence
  /** How the connection ended; `undefined` while it stands. */
  readonly ended: () => string | undefined
  /** True while a person is being asked to log in: that is no slowness of the server. */
  readonly busy: () => boolean
}

/** How a connection ends whose session the server forgot; what it refused with these words was not accepted (M5). */
export const sessionGone = "no longer knows the session (HTTP 404)"

/** Findings for an error text, most telling last. */
export const findings = (evidence: Evidence): ReadonlyArray<string> => [
  ...(evidence.skipped === 0
    ? []
    : [
        `On stdout it wrote ${count(evidence.skipped, "line")} that ${evidence.skipped === 1 ? "is" : "are"} not MCP: ` +
          evidence.samples.map((line) => JSON.stringify(line)).join(", ")
      ]),
  ...(evidence.stderrLines === 0
    ? []
    : [
        `On stderr it said: ${evidence.stderr
          .slice(-6)
          .map((line) => JSON.stringify(line))
          .join(", ")}`
      ])
]

const count = (n: number, noun: string): string => `${n} ${noun}${n === 1 ? "" : "s"}`
