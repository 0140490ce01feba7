import { defineConfig } from "vitest/config";
import { TotalsReporter } from "./test/sdks/totals.js";
import { BREAKABLE_RULES } from "./test/simulation/rules.js";
import { brokenRules } from "./test/support/broken-rules.js";
import { LongestFirst } from "./test/support/longest-first.js";

const LONG = "test/**/*.long.test.ts";
const SDKS = "test/**/*.sdks.test.ts";
const UNIT = "test/unit/**/*.test.ts";

/** Loading the modules takes longer than most unit tests, so that these share what is loaded. */
const UNIT_TESTS = { include: [UNIT], exclude: [LONG], isolate: false };

/**
 * Which tests a mode runs: `long` those that take minutes, `sdks` the suites of the SDKs, `unit` those of test/unit, and
 * no mode all but the first two.
 */
function testsOf(mode: string) {
  if (mode === "long") return { include: [LONG] };
  if (mode === "sdks") return { include: [SDKS] };
  if (mode === "unit") return UNIT_TESTS;
  const others = { name: "others", include: ["test/**/*.test.ts"], exclude: [UNIT, LONG, SDKS] };
  const projects = [{ name: "unit", ...UNIT_TESTS }, others].map((test) => ({ extends: true as const, test }));
  return { projects };
}

/** In CI the results are also written to a file for the totals. */
export default defineConfig(({ mode }) => ({
  plugins: [brokenRules(BREAKABLE_RULES, import.meta.dirname)],
  test: {
    ...testsOf(mode),
    // Ends only what hangs. On a busy machine, mypy alone has taken more than four minutes.
    testTimeout: 1_200_000,
    hookTimeout: 1_200_000,
    expect: { poll: { timeout: 120_000 } },
    pool: "forks",
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    reporters: [
      "default",
      ...(process.env.CI && mode !== "sdks" ? ["json"] : []),
      ...(mode === "sdks" ? [new TotalsReporter()] : []),
    ],
    outputFile: { json: "node_modules/.cache/test-results.json" },
  },
}));
