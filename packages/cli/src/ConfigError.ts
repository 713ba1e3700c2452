/** What is wrong with how the command was configured: exit code 2, and nothing was touched. */
import * as Schema from "effect/Schema"
import * as Nearest from "@settle/core/decide/Nearest"

export class Missing extends Schema.TaggedError<Missing>()("Missing", { path: Schema.String }) {
  override get message(): string {
    return `There is no configuration file ${this.path}. Give --config another file, or leave it out to use the nearest settle.json.`
  }
}

export class Unreadable extends Schema.TaggedError<Unreadable>()("Unreadable", {
  path: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return `The file ${this.path} could not be read: ${this.detail}.`
  }
}

const shownFaults = 5

/** The file is not what the schema says. */
export class Invalid extends Schema.TaggedError<Invalid>()("Invalid", {
  path: Schema.String,
  faults: Schema.Array(Schema.Struct({ path: Schema.String, problem: Schema.String }))
}) {
  override get message(): string {
    const faults = this.faults.map((fault) => `${fault.path === "" ? "" : `${fault.path}: `}${fault.problem}`)
    const more = faults.length > shownFaults ? [`and ${faults.length - shownFaults} more`] : []
    const listed = [...faults.slice(0, shownFaults), ...more]
    return listed.length === 1
      ? `The configuration ${this.path} is not valid. ${listed[0]}`
      : `The configuration ${this.path} is not valid:\n${listed.map((fault) => `  ${fault}`).join("\n")}`
  }
}

export class NoModel extends Schema.TaggedError<NoModel>()("NoModel", { configured: Schema.Array(Schema.String) }) {
  override get message(): string {
    return `No model is chosen. Take one with --model (configured: ${this.configured.join(", ")}), or set "model" in settle.json.`
  }
}

export class UnknownModel extends Schema.TaggedError<UnknownModel>()("UnknownModel", {
  name: Schema.String,
  configured: Schema.Array(Schema.String)
}) {
  override get message(): string {
    const known = this.configured.length === 0 ? "none is configured" : `configured: ${this.configured.join(", ")}`
    return `There is no model "${this.name}" (${known}).${Nearest.hint(this.name, this.configured)} A name that is not configured needs --base-url as well.`
  }
}

export class ModelCycle extends Schema.TaggedError<ModelCycle>()("ModelCycle", { name: Schema.String }) {
  override get message(): string {
    return `The model list "${this.name}" contains itself. Take it out of its own list in "models".`
  }
}

export class MissingKey extends Schema.TaggedError<MissingKey>()("MissingKey", {
  model: Schema.String,
  variable: Schema.String
}) {
  override get message(): string {
    return `The model "${this.model}" takes its API key from the environment variable ${this.variable}, which is not set. Set it (export ${this.variable}=…), or name another one with --api-key-env.`
  }
}

/** A flag or a setting whose value cannot be. */
export class BadValue extends Schema.TaggedError<BadValue>()("BadValue", {
  subject: Schema.String,
  problem: Schema.String,
  remedy: Schema.String
}) {
  override get message(): string {
    return `${this.subject}: ${this.problem}. ${this.remedy}.`
  }
}

export const Reason = Schema.Union([
  Missing,
  Unreadable,
  Invalid,
  NoModel,
  UnknownModel,
  ModelCycle,
  MissingKey,
  BadValue
])
export type Reason = typeof Reason.Type

export class ConfigError extends Schema.TaggedError<ConfigError>()("ConfigError", { reason: Reason }) {
  override readonly cause = this.reason
  override get message(): string {
    return this.reason.message
  }
}

export const make = (reason: Reason): ConfigError => new ConfigError({ reason })
