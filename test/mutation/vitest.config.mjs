import { defineConfig } from "vitest/config";
import { testsOf } from "./tests.mjs";

/** The tests that are to notice a change of the file in MUTATED. A test that a mutant has made to wait for ever ends soon. */
export default defineConfig({
  test: {
    include: testsOf(process.env.MUTATED ?? "").include,
    exclude: testsOf(process.env.MUTATED ?? "").exclude,
    // One set of modules for all test files: loading them takes most of a mutant's time.
    isolate: false,
    testTimeout: 10_000,
    hookTimeout: 10_000,
    reporters: ["dot"],
  },
});
