import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const LONG = "test/**/*.long.test.ts";

/** Mode `long` runs what takes minutes, and nothing else. In CI the results are also left for the totals. */
export default defineConfig(({ mode }) => ({
  root: fileURLToPath(new URL("..", import.meta.url)),
  test: {
    include: [mode === "long" ? LONG : "test/**/*.test.ts"],
    exclude: mode === "long" ? [] : [LONG],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: "forks",
    maxWorkers: 2,
    reporters: process.env.CI ? ["default", "json"] : ["default"],
    outputFile: { json: "node_modules/.cache/test-results.json" },
  },
}));
