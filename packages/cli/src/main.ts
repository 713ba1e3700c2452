#!/usr/bin/env node
/**
 * The `settle` command: parses, loads the one command that is meant, and turns whatever comes of it into an exit code.
 *
 * M1. stdout carries what was asked for and nothing else; errors are one paragraph on stderr.
 * M2. The code of a command is loaded when it runs: `--version` and `--help` load none of it.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Cli from "./Cli.ts"
import * as ExitCode from "./Exit.ts"
import * as Failure from "./Failure.ts"
import * as Out from "./Out.ts"
import * as Stop from "./Stop.ts"

const args = process.argv.slice(2)
const isDebug = /(^|\s)--log-level[= ](debug|trace|all)(\s|$)/i.test(args.join(" "))

const layers = Layer.mergeAll(
  NodeServices.layer,
  Out.layer,
  Stop.layer,
  Logger.layer([Logger.withConsoleError(Cli.logLine)])
)

const program = Effect.gen(function* () {
  const out = yield* Out.Out
  const stop = yield* Stop.Stop
  const cancelled = Effect.andThen(stop.unclaimed, Effect.interrupt)
  const exit = yield* Effect.exit(Effect.raceFirst(Cli.run(args), cancelled))
  const failure = Exit.isSuccess(exit) ? { code: ExitCode.completed, text: "" } : Failure.ofCause(exit.cause, isDebug)
  if (failure.text !== "") yield* out.stderr.write(`${failure.text}\n`)
  yield* out.flush
  return failure.code
}).pipe(Effect.provide(layers), Effect.scoped)

Effect.runFork(program).addObserver((exit) => {
  if (Exit.isFailure(exit)) process.stderr.write(`${Cause.pretty(exit.cause)}\n`)
  process.exit(Exit.isSuccess(exit) ? exit.value : ExitCode.failed)
})
