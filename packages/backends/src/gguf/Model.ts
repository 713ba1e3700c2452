/** A model file, loaded: one context with one sequence, its chat template, and how many tokens a request really is. */
import type { Message } from "@settle/core/model/Message"
import type { Declaration } from "@settle/core/model/Tool"
import type { ChatModelFunctions, Llama, LlamaChat, LlamaContextSequence, LlamaModel } from "node-llama-cpp"
import * as Dialogue from "./Dialogue.ts"
import type { Library } from "./Library.ts"

export interface Settings {
  readonly path: string
  readonly contextWindow: number | undefined
  readonly threads: number
  readonly gpu: boolean
  readonly template: string | undefined
}

export interface Model {
  readonly llama: Llama
  readonly model: LlamaModel
  readonly sequence: LlamaContextSequence
  readonly chat: LlamaChat
  /** Tokens, prompt and reply together. */
  readonly window: number
  readonly count: (text: string) => number
  /** Tokens of a prompt as the template writes it. */
  readonly weigh: (messages: ReadonlyArray<Message>, functions: ChatModelFunctions | undefined) => number
  /** The same object for as long as the list is the same. */
  readonly functions: (tools: ReadonlyArray<Declaration>) => ChatModelFunctions | undefined
}

const longestByDefault = 8192

const named = ({ specializedChatWrapperTypeNames: names }: Library, template: string) => {
  const found = names.find((name) => name === template)
  if (found === undefined) throw new Error(`there is no template "${template}"; there are ${names.join(", ")}`)
  return found
}

export const load = async (
  library: Library,
  { contextWindow, gpu, path, template, threads }: Settings
): Promise<Model> => {
  const type = template === undefined ? undefined : named(library, template)
  const llama = await library.getLlama({
    gpu: gpu ? "auto" : false,
    build: "never",
    skipDownload: true,
    progressLogs: false,
    logLevel: library.LlamaLogLevel.error,
    maxThreads: threads
  })
  const model = await llama.loadModel({ modelPath: path })
  const window = contextWindow ?? Math.min(model.trainContextSize, longestByDefault)
  const context = await model.createContext({ contextSize: window, threads, sequences: 1 })
  const sequence = context.getSequence()
  const chat = new library.LlamaChat({
    contextSequence: sequence,
    chatWrapper: type === undefined ? "auto" : library.resolveChatWrapper(model, { type })
  })
  const kept = new WeakMap<ReadonlyArray<Declaration>, ChatModelFunctions>()
  return {
    llama,
    model,
    sequence,
    chat,
    window: sequence.contextSize,
    count: (text) => model.tokenize(text).length,
    weigh: (messages, functions) => {
      const chatHistory = Dialogue.history(messages)
      // the turn that the model is to write
      if (chatHistory.at(-1)?.type !== "model") chatHistory.push({ type: "model", response: [] })
      const state = chat.chatWrapper.generateContextState({
        chatHistory,
        ...(functions === undefined ? {} : { availableFunctions: functions, documentFunctionParams: true })
      })
      return state.contextText.tokenize(model.tokenizer).length
    },
    functions: (tools) => {
      const made = kept.get(tools) ?? Dialogue.functions(tools)
      if (made !== undefined) kept.set(tools, made)
      return made
    }
  }
}
