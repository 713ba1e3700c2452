import { defineConfig } from "vitest/config"

const project = (name: string) => ({
  extends: true as const,
  test: { name, root: `packages/${name}`, include: ["test/**/*.test.ts"] }
})

export default defineConfig({
  ssr: { resolve: { conditions: ["source"], externalConditions: ["source"] } },
  resolve: { conditions: ["source"] },
  test: {
    testTimeout: 20_000,
    projects: ["core", "testing", "backends", "store-fs", "mcp", "cli"].map(project)
  }
})
