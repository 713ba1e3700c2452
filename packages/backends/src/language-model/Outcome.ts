/** Ends, bills and errors of `effect/ai` in our words, and ours in its. Pure, and total both ways. */
import * as Json from "@settle/core/model/Json"
import type { Usage } from "@settle/core/model/Usage"
import * as Backend from "@settle/core/port/Backend"
import * as AiError from "effect/ai/AiError"
import type * as Response from "effect/ai/Response"
import * as Duration from "effect/Duration"
import * as Failures from "../Failures.ts"

/** Under this name stands what `effect/ai` has no place for. */
export const namespace = "settle"

export const finishFrom = (reason: Response.FinishReason): Backend.Finish => {
  switch (reason) {
    case "stop":
    case "length":
    case "content-filter":
    case "tool-calls":
    case "error":
      return reason
    case "pause":
    case "other":
    case "unknown":
      return "unknown"
  }
}

/** A reply that met the window is one that was cut for length there. */
export const finishTo = (finish: Backend.Finish): Response.FinishReason =>
  finish === "context-window" ? "length" : finish

const costIn = (metadata: Json.Json | undefined): number | undefined => {
  if (!Json.isObject(metadata)) return undefined
  for (const named of Object.values(metadata)) {
    const cost = Json.isObject(named) ? (named["cost"] ?? at(named["usage"], "cost")) : undefined
    if (typeof cost === "number" && Number.isFinite(cost) && cost >= 0) return cost
  }
  return undefined
}

const at = (value: Json.Json | undefined, key: string): Json.Json | undefined =>
  Json.isObject(value) ? value[key] : undefined

/** `undefined` when nothing was reported. A cost is looked for in every provider's metadata: `effect/ai` has no field for it. */
export const usageFrom = (given: Response.Usage, metadata: unknown): Usage | undefined => {
  const { inputTokens, outputTokens } = given
  const total =
    inputTokens.total === undefined || outputTokens.total === undefined
      ? undefined
      : inputTokens.total + outputTokens.total
  const fields: ReadonlyArray<readonly [keyof Usage, number | undefined]> = [
    ["promptTokens", inputTokens.total],
    ["completionTokens", outputTokens.total],
    ["totalTokens", total],
    ["cachedPromptTokens", inputTokens.cacheRead],
    ["cacheWriteTokens", inputTokens.cacheWrite],
    ["reasoningTokens", outputTokens.reasoning],
    ["cost", costIn(Json.fromUnknown(metadata))]
  ]
  const known = fields.filter(([, value]) => value !== undefined)
  return known.length === 0 ? undefined : Object.fromEntries(known)
}

/** Whole tokens only; a field that says nothing is left out. */
export const usageTo = (usage: Usage | undefined): Response.FinishPartEncoded["usage"] => {
  const { cacheWriteTokens, cachedPromptTokens, completionTokens, promptTokens, reasoningTokens } = usage ?? {}
  return {
    inputTokens: fields({
      total: promptTokens,
      uncached:
        promptTokens === undefined || cachedPromptTokens === undefined
          ? undefined
          : Math.max(0, promptTokens - cachedPromptTokens),
      cacheRead: cachedPromptTokens,
      cacheWrite: cacheWriteTokens
    }),
    outputTokens: fields({
      total: completionTokens,
      text:
        completionTokens === undefined || reasoningTokens === undefined
          ? undefined
          : Math.max(0, completionTokens - reasoningTokens),
      reasoning: reasoningTokens
    })
  }
}

const fields = (given: Readonly<Record<string, number | undefined>>): Record<string, number> =>
  Object.fromEntries(
    Object.entries(given).flatMap(([key, value]) => (value === undefined ? [] : [[key, Math.round(value)] as const]))
  )

/** What failed, from an error of `effect/ai`; `inStream` when it came as a part of a reply. */
export const reasonFrom = (error: AiError.AiError, inStream = false): Backend.Reason => {
  const { reason } = error
  const http = "http" in reason ? reason.http : undefined
  const said = saidBy(reason, http?.body)
  const refused = (status: number, more: { readonly code?: string; readonly retryAfterMs?: number } = {}) =>
    new Backend.Refused({ status: http?.response?.status ?? status, detail: said, inStream, ...more })
  switch (reason._tag) {
    case "NetworkError":
      return new Backend.ConnectionFailed({ detail: said })
    case "RateLimitError": {
      const wait = reason.retryAfter
      return refused(429, wait === undefined ? {} : { retryAfterMs: Duration.toMillis(wait) })
    }
    case "QuotaExhaustedError":
      return refused(429, { code: "insufficient_quota" })
    case "AuthenticationError":
      return refused(reason.kind === "InsufficientPermissions" ? 403 : 401)
    case "ContentPolicyError":
      return new Backend.BadResponse({ problem: "filtered", detail: said })
    case "InternalProviderError":
      return refused(500)
    case "InvalidRequestError":
    case "InvalidUserInputError":
    case "ToolConfigurationError":
    case "ToolkitRequiredError":
    case "UnsupportedSchemaError":
      return refused(400)
    default:
      return http?.response === undefined
        ? new Backend.BadResponse({ problem: "malformed", detail: said })
        : refused(http.response.status)
  }
}

const saidBy = (reason: AiError.AiErrorReason, body: string | undefined): string => {
  const described = "description" in reason ? reason.description : undefined
  if (described !== undefined && described !== "") return described
  return body === undefined || body.trim() === "" ? reason.message : Failures.read(body).detail
}

/** Any error a stream may carry as a part: one of `effect/ai`, or whatever the provider's body held. */
export const reasonFromPart = (error: unknown): Backend.Reason =>
  AiError.isAiError(error)
    ? reasonFrom(error, true)
    : Failures.fromStream(Failures.readJson(Json.fromUnknown(error)), (text) => text)

/** Our failure as one of `effect/ai`. */
export const errorTo = (error: Backend.BackendError, method: string): AiError.AiError =>
  AiError.make({ module: "settle", method, reason: reasonTo(error.reason) })

const reasonTo = (reason: Backend.Reason): AiError.AiErrorReason => {
  switch (reason._tag) {
    case "ConnectionFailed":
    case "TimedOut":
      return new AiError.NetworkError({
        reason: "TransportError",
        method: "POST",
        url: "",
        description: reason.message
      })
    case "BadResponse":
      return reason.problem === "filtered"
        ? new AiError.ContentPolicyError({ description: reason.detail })
        : new AiError.InvalidResponseError({ description: reason.detail })
    case "Refused":
      return refusedTo(reason)
  }
}

const refusedTo = (reason: Backend.Refused): AiError.AiErrorReason => {
  const http = { response: { status: reason.status, headers: {} }, body: reason.detail }
  const description = reason.message
  switch (reason.status) {
    case 401:
      return new AiError.AuthenticationError({ kind: "InvalidKey", description, http })
    case 403:
      return new AiError.AuthenticationError({ kind: "InsufficientPermissions", description, http })
    case 429:
      return new AiError.RateLimitError({
        http,
        ...(reason.retryAfterMs === undefined ? {} : { retryAfter: Duration.millis(reason.retryAfterMs) })
      })
    default:
      return reason.status >= 500
        ? new AiError.InternalProviderError({ description, http })
        : new AiError.InvalidRequestError({ description, http })
  }
}
