/**
 * A conversation as one HTML file that needs nothing else and runs nothing. Pure.
 *
 * T1. Every text of the session is escaped; the page forbids itself scripts, frames and requests.
 */
import type * as Message from "@settle/core/model/Message"
import { callsOf } from "@settle/core/model/Message"
import type * as Replay from "@settle/core/model/Replay"
import * as Neutral from "@settle/core/decide/Neutral"

const entities: ReadonlyMap<string, string> = new Map([
  ["&", "&amp;"],
  ["<", "&lt;"],
  [">", "&gt;"],
  ['"', "&quot;"],
  ["'", "&#39;"]
])

/** Text for an element or an attribute; what would hide in it is made visible. */
export const escape = (text: string): string =>
  Neutral.block(text).replace(/[&<>"']/g, (found) => entities.get(found) ?? "")

const style = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 50rem; margin: 2rem auto; padding: 0 1rem }
section { margin: 1.5rem 0; padding-left: 1rem; border-left: 3px solid #8888 }
section.user { border-color: #36c } section.assistant { border-color: #2a7 } section.tool { border-color: #b73 }
h2 { font-size: 0.85rem; margin: 0 0 0.3rem; text-transform: uppercase; letter-spacing: 0.05em; opacity: 0.7 }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0.3rem 0; font: 0.9rem/1.45 ui-monospace, monospace }
p.text { white-space: pre-wrap; overflow-wrap: anywhere; margin: 0 }
.mark { color: #b50 }
`

const policy = "default-src 'none'; style-src 'unsafe-inline'"

/** Part by part, so that a long session need not become one string. */
export function* page(replay: Replay.Replay, title: string): Generator<string> {
  yield `<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="${policy}">\n`
  yield `<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>${escape(title)}</title>\n<style>${style}</style>\n`
  yield `<h1>${escape(title)}</h1>\n`
  const outcomes = new Map(replay.settled.map((operation) => [operation.callId, operation.outcome]))
  for (const entry of replay.entries) yield section(entry, outcomes)
  if (replay.faults.length > 0) {
    const faults = replay.faults.map(({ line, problem }) => `<li>line ${line}: ${escape(problem)}</li>`)
    yield `<section><h2>Not on this page</h2><ul>${faults.join("")}</ul></section>\n`
  }
  yield "</html>\n"
}

const headings: Record<Message.Role, string> = {
  system: "System",
  user: "User",
  assistant: "Assistant",
  tool: "Tool result"
}

const section = ({ mark, message }: Replay.Entry, outcomes: ReadonlyMap<string, string>): string => {
  const note =
    mark === undefined ? "" : ` <span class="mark">${mark === "abandoned" ? "never ran" : "outcome unknown"}</span>`
  const text =
    message.role === "tool" ? `<pre>${escape(message.content)}</pre>` : `<p class="text">${escape(message.content)}</p>`
  const calls = callsOf(message).map((call) => {
    const outcome = outcomes.get(call.id)
    return `<pre><b>${escape(call.name)}</b> ${escape(call.arguments)}${outcome === undefined ? "" : ` <i>${escape(outcome)}</i>`}</pre>`
  })
  return `<section class="${message.role}"><h2>${headings[message.role]}${note}</h2>${message.content === "" ? "" : text}${calls.join("")}</section>\n`
}
