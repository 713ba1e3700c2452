/**
 * What goes wrong between us and an MCP server.
 *
 * E1. A reason says whether the server can have begun the call: only `NotAccepted`, `SessionLost` and the failures to start say that
 *     it cannot (X-CANC-04). `ConnectionLost`, `HttpRefused` and `NoAnswer` leave the outcome unknown.
 * E2. A text says what happened, to which server, and what to do; it never holds a value that was configured as secret (X-SAFE-05).
 */
import * as Schema from "effect/Schema"

/** The command could not be run. */
export class SpawnFailed extends Schema.TaggedError<SpawnFailed>()("SpawnFailed", {
  command: Schema.String,
  code: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return `it could not be started as \`${this.command}\`: ${this.detail}`
  }
}

/** It started, or a connection was made, and no session came of it. */
export class ConnectFailed extends Schema.TaggedError<ConnectFailed>()("ConnectFailed", {
  /** `node server.js`, or a URL. */
  target: Schema.String,
  detail: Schema.String,
  /** What it printed, one line for each finding; empty when it was silent. */
  evidence: Schema.Array(Schema.String),
  advice: Schema.String
}) {
  override get message(): string {
    const evidence = this.evidence.map((line) => `. ${line}`).join("")
    return `no session with \`${this.target}\`: ${this.detail}${evidence}. ${this.advice}`
  }
}

/** The server wants a login and there is none that it accepts. */
export class Unauthorized extends Schema.TaggedError<Unauthorized>()("Unauthorized", {
  target: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return `\`${this.target}\` wants a login: ${this.detail}`
  }
}

/** The server is not being tried now, because it failed a moment ago. */
export class BackingOff extends Schema.TaggedError<BackingOff>()("BackingOff", {
  last: Schema.String,
  retryInSeconds: Schema.Finite
}) {
  override get message(): string {
    return `it is down (${this.last}); it is started again on the next use after ${this.retryInSeconds} seconds`
  }
}

/** The server answered with a JSON-RPC error: it has heard the request and refused or failed it. */
export class Answered extends Schema.TaggedError<Answered>()("Answered", {
  method: Schema.String,
  code: Schema.Int,
  detail: Schema.String
}) {
  override get message(): string {
    return `it answered \`${this.method}\` with error ${this.code}: ${this.detail}`
  }
}

/** The request certainly never reached the server. */
export class NotAccepted extends Schema.TaggedError<NotAccepted>()("NotAccepted", { detail: Schema.String }) {
  override get message(): string {
    return `the request never reached it: ${this.detail}`
  }
}

/** The server no longer knows the session: HTTP 404, which it answers before it looks at the request (M5). */
export class SessionLost extends Schema.TaggedError<SessionLost>()("SessionLost", {}) {
  override get message(): string {
    return "it no longer knows the session (HTTP 404)"
  }
}

/** An HTTP error in place of an answer: what the server did before it is unknown. */
export class HttpRefused extends Schema.TaggedError<HttpRefused>()("HttpRefused", {
  status: Schema.Int,
  detail: Schema.String
}) {
  override get message(): string {
    return `it sent HTTP ${this.status} in place of an answer${this.detail === "" ? "" : `: ${this.detail}`}`
  }
}

/** The connection broke after the request may have been read. */
export class ConnectionLost extends Schema.TaggedError<ConnectionLost>()("ConnectionLost", { detail: Schema.String }) {
  override get message(): string {
    return `the connection broke before it answered: ${this.detail}`
  }
}

/** The server was told to forget a request that took too long (M4). */
export class NoAnswer extends Schema.TaggedError<NoAnswer>()("NoAnswer", {
  method: Schema.String,
  seconds: Schema.Finite,
  /** `silence`: no sign of life for so long. `ceiling`: signs of life, and no answer. */
  limit: Schema.Literals(["silence", "ceiling"])
}) {
  override get message(): string {
    return this.limit === "silence"
      ? `it gave no sign of life on \`${this.method}\` for ${this.seconds} seconds`
      : `it did not answer \`${this.method}\` within ${this.seconds} seconds`
  }
}

/** The entry in the configuration cannot be used. */
export class BadEntry extends Schema.TaggedError<BadEntry>()("BadEntry", { detail: Schema.String }) {
  override get message(): string {
    return `its entry in mcpServers cannot be used: ${this.detail}`
  }
}

export const Reason = Schema.Union([
  SpawnFailed,
  ConnectFailed,
  Unauthorized,
  BackingOff,
  Answered,
  NotAccepted,
  SessionLost,
  HttpRefused,
  ConnectionLost,
  NoAnswer,
  BadEntry
])
export type Reason = typeof Reason.Type
export const isReason = Schema.is(Reason)

export class McpError extends Schema.TaggedError<McpError>()("McpError", {
  server: Schema.String,
  reason: Reason
}) {
  override readonly cause = this.reason
  override get message(): string {
    return `MCP server \`${this.server}\`: ${this.reason.message}`
  }
}

export const of = (server: string, reason: Reason): McpError => new McpError({ server, reason })

/** True when the server cannot have begun what was asked of it (X-CANC-04). */
export const isNotAccepted = (error: McpError): boolean => isNotAcceptedReason(error.reason)

export const isNotAcceptedReason = (reason: Reason): boolean => {
  switch (reason._tag) {
    case "SpawnFailed":
    case "ConnectFailed":
    case "Unauthorized":
    case "BackingOff":
    case "NotAccepted":
    case "SessionLost":
    case "BadEntry":
      return true
    case "Answered":
    case "HttpRefused":
    case "ConnectionLost":
    case "NoAnswer":
      return false
  }
}
