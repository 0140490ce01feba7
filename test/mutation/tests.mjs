/** The tests that are quick enough to run for every mutant. They run in one process and break no rule on purpose. */
const UNIT_HISTORY = "test/unit/storage/history/**/*.test.ts";
const SCHEDULES = [
  "test/mutation/schedules.mutation.ts",
  "test/simulation/{late-answers,races,sweep-races,taken-drafts}.test.ts",
];
const PROVIDER = "test/mutation/provider.mutation.ts";

/** Tests that measure sizes and counts of calls on long histories, or make long chains of forks, take seconds each. */
const SLOW = ["test/unit/storage/history/{record-size,store-calls,fork-chains}.test.ts"];

/** The folders whose files may be mutated, and the tests that run for their mutants. */
const TESTS = [
  { under: "src/pool/", include: ["test/unit/pool/**/*.test.ts"] },
  {
    under: "src/storage/history/segments.ts",
    include: ["test/unit/storage/history/segments.test.ts", ...SCHEDULES, PROVIDER],
  },
  { under: "src/storage/history/", include: [UNIT_HISTORY, ...SCHEDULES, PROVIDER] },
  {
    under: "src/storage/memory/",
    include: ["test/unit/storage/memory/**/*.test.ts", "test/contract/log-store.memory.test.ts"],
  },
  {
    under: "src/storage/sqlite/",
    include: ["test/unit/storage/sqlite/**/*.test.ts", "test/contract/log-store.sqlite.test.ts"],
  },
  {
    under: "src/storage/postgres/",
    include: ["test/unit/storage/postgres/**/*.test.ts", "test/contract/log-store.postgres.test.ts"],
  },
];

/** What a run over everything mutates. Files elsewhere, whose tests wait for a server, are named one by one. */
export const MUTATED_FOLDERS = ["src/pool", "src/storage/history", "src/storage/memory", "src/storage/sqlite"];

/** Returns the patterns of the tests that run for mutants of a file. */
export function testsOf(file) {
  const include = TESTS.find(({ under }) => file.startsWith(under))?.include;
  if (!include) throw new Error(`No tests are chosen for mutants of ${file}: see test/mutation/tests.mjs`);
  return { include, exclude: SLOW };
}
