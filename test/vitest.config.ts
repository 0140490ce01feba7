import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { BREAKABLE_RULES } from "./simulation/rules.js";
import { brokenRules } from "./support/broken-rules.js";
import { LongestFirst } from "./support/longest-first.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const LONG = "test/**/*.long.test.ts";

/** Mode `long` runs only the tests that take minutes. In CI the results are also written to a file for the totals. */
export default defineConfig(({ mode }) => ({
  root: ROOT,
  plugins: [brokenRules(BREAKABLE_RULES, ROOT)],
  test: {
    include: [mode === "long" ? LONG : "test/**/*.test.ts"],
    exclude: mode === "long" ? [] : [LONG],
    // Ends only what hangs. On a busy machine, mypy alone has taken more than four minutes.
    testTimeout: 1_200_000,
    hookTimeout: 1_200_000,
    expect: { poll: { timeout: 120_000 } },
    pool: "forks",
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    reporters: process.env.CI ? ["default", "json"] : ["default"],
    outputFile: { json: "node_modules/.cache/test-results.json" },
  },
}));
