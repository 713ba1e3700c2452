/** A conversation as Markdown, for people. Pure; what is in no message is not in it. */
import type * as Message from "@settle/core/model/Message"
import { callsOf } from "@settle/core/model/Message"
import type * as Replay from "@settle/core/model/Replay"

/** Part by part, so that a long session need not become one string. */
export function* markdown(replay: Replay.Replay, title: string): Generator<string> {
  yield `# ${title}\n`
  for (const entry of replay.entries) yield section(entry)
  if (replay.faults.length > 0) {
    yield `\n---\n\nNot in this text:\n\n${replay.faults.map((fault) => `- line ${fault.line}: ${fault.problem}`).join("\n")}\n`
  }
}

const section = ({ mark, message }: Replay.Entry): string => {
  const notes = mark === undefined ? "" : ` (${mark === "abandoned" ? "never ran" : "outcome unknown"})`
  const text = message.role === "tool" ? fenced(message.content) : message.content
  return `\n## ${headings[message.role]}${notes}\n\n${text}\n${callsOf(message).map(call).join("")}`
}

const headings: Record<Message.Role, string> = {
  system: "System",
  user: "User",
  assistant: "Assistant",
  tool: "Tool result"
}

const call = ({ arguments: args, name }: Message.ToolCall): string => `\nCalls \`${name}\`:\n\n${fenced(args)}\n`

/** A fence longer than any run of backticks inside. */
const fenced = (text: string): string => {
  let longest = 2
  for (const [run] of text.matchAll(/`{3,}/g)) longest = Math.max(longest, run.length)
  const fence = "`".repeat(longest + 1)
  return `${fence}\n${text}\n${fence}`
}
