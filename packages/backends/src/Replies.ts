/** The reply of any protocol, from what its assembly gathered. Pure. */
import * as Json from "@settle/core/model/Json"
import type { Replay } from "@settle/core/model/Message"
import type { Usage } from "@settle/core/model/Usage"
import type * as Backend from "@settle/core/port/Backend"
import type { Collected } from "./Calls.ts"

export interface Said {
  readonly text: string
  readonly reasoning: string
  readonly calls: Collected
  /** What the server's own word means; without one it follows from the calls. */
  readonly finish: Backend.Finish | undefined
  readonly finishReason: string | undefined
  readonly usage: Usage | undefined
  readonly model: string | undefined
  readonly replay: Replay | undefined
  /** Those of the calls are added. */
  readonly warnings: ReadonlyArray<string>
}

export const reply = ({ calls, finish, finishReason, model, reasoning, replay, text, usage, warnings }: Said) =>
  ({
    text,
    toolCalls: calls.whole,
    partialCalls: calls.partial,
    finish: finish ?? (calls.whole.length > 0 ? "tool-calls" : "stop"),
    warnings: [...warnings, ...calls.warnings],
    ...(finishReason === undefined ? {} : { finishReason }),
    ...(reasoning === "" ? {} : { reasoning: Json.wellFormed(reasoning) }),
    ...(usage === undefined ? {} : { usage }),
    ...(model === undefined ? {} : { modelUsed: model }),
    ...(replay === undefined ? {} : { replay })
  }) satisfies Backend.Reply
