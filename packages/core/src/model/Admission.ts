/**
 * Who may start a run on a loop.
 *
 * Idle --start--> Live --result--> Draining --drained--> Idle
 *
 * A1. One run at a time; the door opens at `drained`, not at `result` (L-RUN-02, -03, -04).
 * A2. Word of a run that is not the current one changes nothing.
 */
import * as Schema from "effect/Schema"

export const Admission = Schema.TaggedUnion({
  Idle: {},
  Live: { runId: Schema.String },
  Draining: { runId: Schema.String }
})
export type Admission = typeof Admission.Type

export const Input = Schema.TaggedUnion({
  Start: { runId: Schema.String },
  Result: { runId: Schema.String },
  Drained: { runId: Schema.String }
})
export type Input = typeof Input.Type

export const idle: Admission = { _tag: "Idle" }

export const step = (self: Admission, input: Input): Admission | undefined => {
  switch (self._tag) {
    case "Idle":
      return input._tag === "Start" ? { _tag: "Live", runId: input.runId } : undefined
    case "Live":
      return input._tag === "Result" && input.runId === self.runId ? { _tag: "Draining", runId: self.runId } : undefined
    case "Draining":
      return input._tag === "Drained" && input.runId === self.runId ? idle : undefined
  }
}
