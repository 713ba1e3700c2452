/** Why something asked of the sessions could not be done. */
import * as Schema from "effect/Schema"

export class NotFound extends Schema.TaggedError<NotFound>()("NotFound", {
  wanted: Schema.String,
  known: Schema.Array(Schema.String)
}) {
  override get message(): string {
    const hint = this.known.length === 0 ? "there are none yet" : `there are: ${this.known.join(", ")}`
    return `there is no session ${this.wanted}; ${hint}`
  }
}

/** One name in several projects. */
export class Ambiguous extends Schema.TaggedError<Ambiguous>()("Ambiguous", {
  wanted: Schema.String,
  paths: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return `${this.wanted} names ${this.paths.length} sessions; give one of these paths: ${this.paths.join(", ")}`
  }
}

export class BadName extends Schema.TaggedError<BadName>()("BadName", { name: Schema.String, problem: Schema.String }) {
  override get message(): string {
    return `${JSON.stringify(this.name)} cannot name a session: ${this.problem}`
  }
}

export class Taken extends Schema.TaggedError<Taken>()("Taken", { path: Schema.String }) {
  override get message(): string {
    return `${this.path} is there already; choose another name`
  }
}

/** There is no line of that number or id. */
export class NoLine extends Schema.TaggedError<NoLine>()("NoLine", {
  path: Schema.String,
  wanted: Schema.String,
  lines: Schema.Int
}) {
  override get message(): string {
    return `${this.path} has ${this.lines} lines and none is ${this.wanted}`
  }
}

export class Unusable extends Schema.TaggedError<Unusable>()("Unusable", {
  path: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return `${this.path}: ${this.detail}`
  }
}

export class SessionError extends Schema.TaggedError<SessionError>()("SessionError", {
  operation: Schema.Literals(["home", "list", "find", "fork", "rename", "search", "export"]),
  reason: Schema.Union([NotFound, Ambiguous, BadName, Taken, NoLine, Unusable])
}) {
  override readonly cause = this.reason
  override get message(): string {
    return `could not ${verbs[this.operation]}: ${this.reason.message}`
  }
}

const verbs = {
  home: "find the data directory",
  list: "list the sessions",
  find: "find the session",
  fork: "fork the session",
  rename: "rename the session",
  search: "search the sessions",
  export: "export the session"
} as const
