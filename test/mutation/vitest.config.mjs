import { defineConfig } from "vitest/config";
import { testsOf } from "./tests.mjs";

/**
 * Runs the tests that should notice a change of the file that MUTATED names. The short timeouts end tests that a mutant
 * makes wait forever.
 */
export default defineConfig({
  test: {
    include: testsOf(process.env.MUTATED ?? "").include,
    exclude: testsOf(process.env.MUTATED ?? "").exclude,
    // All test files share their modules, because loading modules takes most of the time of a mutant.
    isolate: false,
    testTimeout: 10_000,
    hookTimeout: 10_000,
    reporters: ["dot"],
  },
});
