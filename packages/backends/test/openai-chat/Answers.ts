/** A step of a script as a chat-completions server answers it. */
import * as ReplayServer from "@settle/testing/servers/ReplayServer"
import type * as Script from "@settle/testing/Script"

const texts = (step: Script.Step): ReadonlyArray<string> =>
  step.chunks?.map((read) => (typeof read === "string" ? read : "")) ??
  (step.content === undefined ? [] : [step.content])

const usage = (step: Script.Step) => ({
  prompt_tokens: step.usage?.promptTokens ?? 1,
  completion_tokens: step.usage?.completionTokens ?? 1
})

export const answer = (step: Script.Step): ReplayServer.Answer => {
  const { error } = step
  if (error?._tag === "Refused") {
    return { status: error.status, body: JSON.stringify({ error: { message: error.detail } }) }
  }
  const calls = (step.toolCalls ?? []).map(({ id, name, arguments: text }) => ({ id, name, arguments: [text] }))
  const open = step.stall === true || step.cut === true
  const body = ReplayServer.events({
    text: texts(step),
    calls,
    usage: usage(step),
    ...(open ? { finish: null, done: false } : {})
  })
  return step.stall === true ? { body, ending: { _tag: "Hanging" } } : { body }
}
