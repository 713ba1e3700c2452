import { defineConfig } from "vitest/config"

/** `--mode slow` runs the long proofs (`*.slow.ts`) instead of the tests. */
const project = (name: string, slow: boolean) => ({
  extends: true as const,
  test: {
    name,
    root: `packages/${name}`,
    include: [slow ? "test/**/*.slow.ts" : "test/**/*.test.ts"],
    // No module here keeps state, so files may share a worker: the imports are most of what a test run costs.
    isolate: false
  }
})

export default defineConfig(({ mode }) => {
  const slow = mode === "slow"
  return {
    ssr: { resolve: { conditions: ["source"], externalConditions: ["source"] } },
    resolve: { conditions: ["source"] },
    test: {
      testTimeout: slow ? 600_000 : 60_000,
      projects: ["core", "testing", "backends", "store-fs", "mcp", "cli"].map((name) => project(name, slow))
    }
  }
})
