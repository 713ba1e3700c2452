/** What went wrong below HTTP, in words that name the place and what to do. Pure. */
import * as Backend from "@settle/core/port/Backend"

export interface Target {
  /** Host and port, never the path, a query or credentials. */
  readonly place: string
  readonly connectSeconds: number
  readonly headersSeconds: number
  readonly bytesSeconds: number
}

const codeOf = (error: Error): string => ("code" in error && typeof error.code === "string" ? error.code : "")

const certificate = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ERR_TLS|ERR_SSL|EPROTO/

const connection = (code: string, target: Target): string => {
  const { place } = target
  switch (code) {
    case "ECONNREFUSED":
      return `${place} refused the connection. Is the server running there? Check baseUrl`
    case "ENOTFOUND":
      return `${place} has no address. Check the host name in baseUrl`
    case "EAI_AGAIN":
      return `the address of ${place} could not be looked up. Check the network`
    case "EHOSTUNREACH":
    case "ENETUNREACH":
      return `${place} cannot be reached from here. Check the network`
    case "ETIMEDOUT":
    case "UND_ERR_CONNECT_TIMEOUT":
      return `${place} did not accept a connection within ${target.connectSeconds} seconds. Check baseUrl and the network`
    case "ECONNRESET":
    case "EPIPE":
    case "UND_ERR_SOCKET":
      return `${place} closed the connection before it answered`
    default:
      return certificate.test(code)
        ? `no secure connection to ${place} (${code}). Check that baseUrl has the right scheme and the server's certificate is trusted`
        : `the request to ${place} failed${code === "" ? "" : ` (${code})`}`
  }
}

/** No answer came. */
export const beforeAnswer = (error: Error, target: Target): Backend.Reason => {
  const code = codeOf(error)
  if (code === "UND_ERR_HEADERS_TIMEOUT") {
    return new Backend.TimedOut({ seconds: target.headersSeconds, waitedFor: "headers" })
  }
  if (error.name === "HTTPParserError" || code === "UND_ERR_HEADERS_OVERFLOW") {
    return new Backend.BadResponse({
      problem: "malformed",
      detail: `${target.place} does not answer in HTTP. Check the port in baseUrl`
    })
  }
  return new Backend.ConnectionFailed({ detail: connection(code, target) })
}

/** The answer had begun. */
export const afterAnswer = (error: Error, target: Target): Backend.Reason => {
  const code = codeOf(error)
  if (code === "UND_ERR_BODY_TIMEOUT") {
    return new Backend.TimedOut({ seconds: target.bytesSeconds, waitedFor: "bytes" })
  }
  const what = code === "" || code === "UND_ERR_SOCKET" || code === "ECONNRESET" ? "" : ` (${code})`
  return new Backend.BadResponse({
    problem: "cut",
    detail: `${target.place} closed the connection in the middle${what}`
  })
}
