/** What every source of tools must do. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Tool from "@settle/core/model/Tool"
import type { ToolProvider } from "@settle/core/port/ToolProvider"

export interface Subject {
  readonly provider: ToolProvider
  /** A tool that answers with a text it was given. */
  readonly echo: {
    readonly name: string
    /** Arguments that carry the text, as JSON text. */
    readonly arguments: (text: string) => string
    readonly answer: (text: string) => string
  }
  /** A tool that answers with an error, and the arguments that make it. */
  readonly failing: { readonly name: string; readonly arguments: string }
}

/** Registers the suite; the clock is the real one. */
export const suite = (name: string, make: Effect.Effect<Subject, unknown, Scope.Scope>): void => {
  describe(`${name} as a tool provider`, () => {
    it.live("lists its tools: a name once, an object of arguments", () =>
      Effect.gen(function* () {
        const { echo, failing, provider } = yield* make
        const list = yield* provider.list
        const names = list.map((declaration) => declaration.name)
        assert.includeMembers(names, [echo.name, failing.name])
        assert.strictEqual(new Set(names).size, names.length)
        for (const { parameters } of list) assert.strictEqual(parameters["type"], "object")
      })
    )

    it.live("answers a batch by position", () =>
      Effect.gen(function* () {
        const { echo, provider } = yield* make
        const texts = ["one", "two", "three"]
        const answers = yield* provider.execute(texts.map((text, at) => invoke(at, echo.name, echo.arguments(text))))
        assert.deepStrictEqual(answers.map(content), texts.map(echo.answer))
        assert.isTrue(answers.every((answer) => !isError(answer)))
      })
    )

    it.live("answers nothing for nothing", () =>
      Effect.gen(function* () {
        const { provider } = yield* make
        assert.deepStrictEqual(yield* provider.execute([]), [])
      })
    )

    it.live("a tool that fails has answered, and its neighbours too", () =>
      Effect.gen(function* () {
        const { echo, failing, provider } = yield* make
        const answers = yield* provider.execute([
          invoke(0, echo.name, echo.arguments("a")),
          invoke(1, failing.name, failing.arguments),
          invoke(2, echo.name, echo.arguments("b"))
        ])
        assert.deepStrictEqual(answers.map(isError), [false, true, false])
        assert.isNotEmpty(content(answers[1]))
      })
    )

    it.live("answers a name it does not know with an error that says the name", () =>
      Effect.gen(function* () {
        const { provider } = yield* make
        for (const unknown of ["no_such_tool", "__proto__", "constructor"]) {
          const [answer] = yield* provider.execute([invoke(0, unknown, "{}")])
          assert.isTrue(isError(answer))
          assert.include(content(answer), unknown)
        }
      })
    )
  })
}

type Given = Tool.Answer | string | undefined

const invoke = (at: number, name: string, args: string): Tool.Invocation => ({
  callId: `call-${at}`,
  operationId: `op-${at}`,
  name,
  arguments: args
})

const content = (given: Given): string => {
  if (given === undefined || typeof given === "string") return given ?? ""
  return given._tag === "Answered" ? given.content : given.message
}

const isError = (given: Given): boolean =>
  typeof given === "object" && (given._tag === "NotAccepted" || (given._tag === "Answered" && given.isError))
