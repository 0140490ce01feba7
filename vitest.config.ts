import { defineConfig } from "vitest/config";
import { TotalsReporter } from "./test/sdks/totals.js";
import { BREAKABLE_RULES } from "./test/simulation/rules.js";
import { brokenRules } from "./test/support/broken-rules.js";
import { LongestFirst } from "./test/support/longest-first.js";

const LONG = "test/**/*.long.test.ts";
const SDKS = "test/**/*.sdks.test.ts";
const UNIT = "test/unit/**/*.test.ts";

/**
 * Mode `long` runs only the tests that take minutes, mode `sdks` only the suites of the SDKs, and mode `unit` only those
 * of test/unit. In CI the results are also written to a file for the totals.
 */
export default defineConfig(({ mode }) => ({
  plugins: [brokenRules(BREAKABLE_RULES, import.meta.dirname)],
  test: {
    include: [{ long: LONG, sdks: SDKS, unit: UNIT }[mode] ?? "test/**/*.test.ts"],
    exclude: [LONG, SDKS].filter((pattern) => pattern !== { long: LONG, sdks: SDKS }[mode]),
    // Ends only what hangs. On a busy machine, mypy alone has taken more than four minutes.
    testTimeout: 1_200_000,
    hookTimeout: 1_200_000,
    expect: { poll: { timeout: 120_000 } },
    pool: "forks",
    maxWorkers: 2,
    // Loading the modules takes longer than most unit tests. `npm test` gives each file its own, and shows what leaks.
    isolate: mode !== "unit",
    sequence: { sequencer: LongestFirst },
    reporters: [
      "default",
      ...(process.env.CI && mode !== "sdks" ? ["json"] : []),
      ...(mode === "sdks" ? [new TotalsReporter()] : []),
    ],
    outputFile: { json: "node_modules/.cache/test-results.json" },
  },
}));
