/**
 * A connection over the pipes of a process of ours. The SDK's own stdio transport stops at 10 MB, cannot say whether a request was
 * written, and lets an answer with an unexpected member go by unheard; this one is built on `Lines`, `Wire` and `Ledger`.
 */
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Child from "./Child.ts"
import * as Ledger from "./Ledger.ts"
import * as Lines from "./Lines.ts"
import type * as Link from "./Link.ts"
import type * as McpError from "./McpError.ts"
import * as ServerSpec from "./ServerSpec.ts"
import * as Wire from "./Wire.ts"

/** The longest message; a longer one ends the connection, since nobody can know which request it answered. */
const maxMessageBytes = 128 * 1024 * 1024
const maxStderrLine = 8 * 1024
const samplesKept = 3
const stderrKept = 20
const shownLine = 300

export const open = Effect.fnUntraced(function* (
  spec: ServerSpec.Stdio,
  taps: Link.Taps
): Effect.fn.Return<Link.Link, McpError.Reason, Scope.Scope> {
  const child = yield* Child.spawn(spec)
  const state = make(child, taps, ServerSpec.masker(spec))
  yield* child.listen(state.ears)
  return state.link
})

const make = (child: Child.Child, taps: Link.Taps, mask: (text: string) => string) => {
  const ledger = Ledger.make()
  const out = Lines.make(maxMessageBytes)
  const err = Lines.make(maxStderrLine)
  const samples: Array<string> = []
  const stderr: Array<string> = []
  let skipped = 0
  let stderrLines = 0
  let ended: string | undefined = undefined

  const end = (how: string): void => {
    if (ended !== undefined) return
    ended = how
    transport.onclose?.()
  }

  const noise = (text: string): void => {
    skipped++
    const line = mask(clip(text))
    if (samples.length < samplesKept) samples.push(line)
    taps.noise(line)
  }

  const hear = (heard: Wire.Heard): void => {
    switch (heard._tag) {
      case "Noise":
        return noise(heard.text)
      case "Answer":
        if (!ledger.answered(heard.id)) return
        taps.answered(heard.id)
        return transport.onmessage?.(heard.message)
      case "Notification":
        if (!taps.notification(heard.method, heard.params)) transport.onmessage?.(heard.message)
        return
      case "Request":
        return transport.onmessage?.(heard.message)
    }
  }

  const hearLines = (cuts: ReadonlyArray<Lines.Cut>): void => {
    for (const cut of cuts) {
      if (ended !== undefined) return
      if (cut._tag === "Line") Wire.line(cut.text).forEach(hear)
      else end(`wrote a message of more than ${maxMessageBytes / 1024 / 1024} MB`)
    }
  }

  const hearStderr = (cuts: ReadonlyArray<Lines.Cut>): void => {
    for (const cut of cuts) {
      stderrLines++
      const line = cut._tag === "Line" ? mask(clip(cut.text)) : `[a line of more than ${maxStderrLine} bytes]`
      stderr.push(line)
      if (stderr.length > stderrKept) stderr.shift()
      taps.stderr(line)
    }
  }

  const transport: Transport = {
    start: () => Promise.resolve(),
    send: (message) => send(child, ledger, message, ended),
    close: () => {
      child.endInput()
      end("was closed by us")
      return Promise.resolve()
    }
  }

  const ears: Child.Ears = {
    stdout: (chunk) => hearLines(out.push(chunk)),
    stderr: (chunk) => hearStderr(err.push(chunk)),
    gone: (how) => {
      hearLines(out.end())
      hearStderr(err.end())
      end(how)
    }
  }

  const evidence = (): Link.Evidence => ({ skipped, samples, stderrLines, stderr, strays: ledger.strays() })
  return { ears, link: { transport, ledger, evidence, ended: () => ended, busy: () => false } satisfies Link.Link }
}

const send = (
  child: Child.Child,
  ledger: Ledger.Ledger,
  message: JSONRPCMessage,
  ended: string | undefined
): Promise<void> =>
  new Promise((resolve, reject) => {
    ledger.sending(message)
    const settle = (error: Error | undefined): void => {
      if (error === undefined) return resolve()
      // its last byte is the end of the line: a write that failed has not delivered it
      ledger.unsent(message)
      reject(error)
    }
    if (ended !== undefined) return settle(new Error(`the server ${ended}`))
    child.write(`${JSON.stringify(message)}\n`, settle)
  })

const clip = (text: string): string => (text.length > shownLine ? `${text.slice(0, shownLine)}…` : text)
