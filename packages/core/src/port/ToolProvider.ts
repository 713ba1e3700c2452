/** A source of tools, one or many behind it: a client, a registry, a policy, or an object made by hand (L-GEN-02). */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Grant from "../model/Grant.ts"
import type { Answer, Declaration, Invocation } from "../model/Tool.ts"

export class ToolProviderError extends Schema.TaggedError<ToolProviderError>()("ToolProviderError", {
  provider: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return `${this.provider}: ${this.detail}`
  }
}

export interface ToolProvider {
  /** The catalogue, in the order the model sees it. */
  readonly list: Effect.Effect<ReadonlyArray<Declaration>, ToolProviderError>
  /**
   * Runs a batch and answers by position. It never fails: a tool that broke has still answered, with `isError`. A missing
   * entry is answered for it as an error (L-TOOL-10); a defect becomes one error for each call (L-TOOL-09).
   *
   * `CallScope` is in its context, bound to the run whose calls these are: questions, logs, progress and grants go through it.
   */
  readonly execute: (batch: ReadonlyArray<Invocation>) => Effect.Effect<ReadonlyArray<Answer | string | undefined>>
  /** Its permission snapshot, where it keeps one (L-GRANT-01). */
  readonly grants?: Effect.Effect<Grant.Snapshot>
  /**
   * Did an interrupted operation land? Asked before a repair is worded; `undefined` means it cannot tell (X-IDEM-03).
   */
  readonly probe?: (invocation: Invocation) => Effect.Effect<"landed" | "did-not-land" | undefined>
}

/** Optional part: `undefined` means that no tool is ever declared (L-GEN-03). */
export const ToolProvider: Context.Reference<ToolProvider | undefined> = Context.Reference<ToolProvider | undefined>(
  "@settle/core/port/ToolProvider",
  { defaultValue: () => undefined }
)
