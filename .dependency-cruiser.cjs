/**
 * Who may import whom, as a program. `docs/architecture.md` says why.
 *
 * The order of the engine's files is the order of calling: an import goes to a file further down the list, so a circle
 * cannot be written. A new engine file gets its place here first (`npm run check` names one that has none).
 */
const engineOrder = require("./scripts/check/engine-order.json")

const layers = {
  model: [],
  decide: ["model"],
  port: ["model"],
  standard: ["model", "decide", "port"],
  engine: ["model", "decide", "port"],
  tools: ["model", "decide", "port"],
  agent: ["model", "decide", "port", "engine"]
}

/** `effect` modules that run something. `model` and `decide` hold data and rules only. */
const runtimeModules =
  "Effect|Layer|LayerMap|Context|Fiber\\w*|Queue|PubSub|Stream|Sink|Channel|Ref|SubscriptionRef|SynchronizedRef|Deferred|" +
  "Clock|Random|Scope|Schedule|Scheduler|Semaphore|Latch|Runtime|ManagedRuntime|Tracer|Logger|Console|Config\\w*|Pool|Cache"

const core = "^packages/core/src"
const error = (name, comment, from, to) => ({ name, comment, severity: "error", from, to })

const layerRule = ([layer, mayImport]) =>
  error(
    `${layer}-imports-only-${mayImport.join("-") || "itself"}`,
    `${layer} may import ${mayImport.join(", ") || "nothing of ours"}`,
    { path: `${core}/${layer}/`, ...(layer === "agent" ? { pathNot: `${core}/agent/Agent\\.ts$` } : {}) },
    { path: "^packages/[^/]+/(src|test)/", pathNot: [layer, ...mayImport].map((to) => `${core}/${to}/`) }
  )

const engineRule = (file, index) =>
  error(
    `engine-${file}-imports-downwards`,
    "an engine file imports only files below it in scripts/check/engine-order.json",
    { path: `${core}/engine/${file}\\.ts$` },
    { path: `${core}/engine/`, pathNot: `${core}/engine/(${[...engineOrder.slice(index + 1), "-"].join("|")})\\.ts$` }
  )

/** What a package may import of the others; `core` is limited to the folders named. */
const packages = {
  backends: [`${core}/(model|port|decide)/`],
  mcp: [`${core}/(model|port|decide|tools)/`],
  "store-fs": [`${core}/(model|port|decide)/`],
  testing: [`${core}/`],
  cli: [`${core}/`, "^packages/(backends|mcp|store-fs)/src/"]
}

const packageRule = ([name, mayImport]) =>
  error(
    `${name}-imports-its-neighbours-by-their-doors`,
    `${name} may import ${mayImport.join(", ")}`,
    { path: `^packages/${name}/src/` },
    { path: "^packages/[^/]+/(src|test)/", pathNot: [`^packages/${name}/src/`, ...mayImport] }
  )

module.exports = {
  forbidden: [
    error("no-cycles", "a circle has no top to read from", { path: "^packages/[^/]+/src/" }, { circular: true }),
    error(
      "no-effect-barrel",
      "import effect by subpath: the barrel costs 0.3 seconds of start-up",
      { path: "^packages/[^/]+/src/" },
      { path: "node_modules/(effect/(dist|src)/index|@effect/platform-node/(dist|src)/index)\\.(js|d\\.ts|ts)$" }
    ),
    error(
      "no-own-barrel",
      "src never imports a door of its own package",
      { path: `${core}/` },
      { path: `${core}/index\\.ts$` }
    ),
    error(
      "model-and-decide-are-pure",
      "rules and words use effect's data modules only; work belongs to engine",
      { path: `${core}/(model|decide)/` },
      { path: `node_modules/effect/(dist|src)/(${runtimeModules})\\.(js|d\\.ts|ts)$` }
    ),
    error(
      "core-knows-no-platform",
      "node's modules enter core through ports (node:crypto's hash in model/Canonical.ts is the one exception)",
      { path: `${core}/`, pathNot: `${core}/model/Canonical\\.ts$` },
      { dependencyTypes: ["core"] }
    ),
    error(
      "core-depends-on-effect-alone",
      "another package needs a port",
      { path: `${core}/` },
      { path: "node_modules/", pathNot: "node_modules/effect/" }
    ),
    error("no-unresolved", "the import leads nowhere", { path: "^packages/[^/]+/src/" }, { couldNotResolve: true }),
    error(
      "src-never-imports-tests",
      "tests import src, never the reverse",
      { path: "^packages/[^/]+/src/" },
      {
        path: ["/test/", "^examples/", "^bench/", "^scripts/"]
      }
    ),
    error(
      "src-never-imports-testing",
      "the test kit is for tests",
      { path: "^packages/(?!testing)[^/]+/src/" },
      { path: "^packages/testing/" }
    ),
    error("nobody-imports-cli", "the command is the top", { path: "^packages/(?!cli/)" }, { path: "^packages/cli/" }),
    error(
      "agent-file-assembles",
      "Agent.ts alone puts standard parts and tools together",
      { path: `${core}/agent/Agent\\.ts$` },
      { path: "^packages/[^/]+/(src|test)/", pathNot: `${core}/(model|decide|port|engine|agent|standard|tools)/` }
    ),
    ...Object.entries(layers).map(layerRule),
    ...engineOrder.map(engineRule),
    ...Object.entries(packages).map(packageRule)
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "^packages/[^/]+/dist/" },
    tsPreCompilationDeps: true,
    combinedDependencies: true,
    tsConfig: { fileName: "tsconfig.base.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["source", "import", "node", "default"],
      extensions: [".ts", ".js", ".mjs", ".json", ".d.ts"]
    }
  }
}
