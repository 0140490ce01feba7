// The settings of StrykerJS that hold for every file; run.mjs says which file is mutated and which tests run.
export default {
  testRunner: "vitest",
  plugins: ["@stryker-mutator/vitest-runner"],
  vitest: { configFile: "test/mutation/vitest.config.mjs", related: false },
  // Stryker cannot read the settings of TypeScript 7. With a file that is not there it leaves them alone; vitest needs none.
  tsconfigFile: "test/mutation/no-tsconfig.json",
  coverageAnalysis: "perTest",
  incremental: true,
  // A mutant of what runs when the module is loaded would need all tests.
  ignoreStatic: true,
  // Texts are for people, and what branches on one is mutated itself.
  mutator: { excludedMutations: ["StringLiteral"] },
  ignorePatterns: [
    "/.ci",
    "/.github",
    "/clients",
    "/data",
    "/dist",
    "/docs",
    "/examples",
    "/test/interop",
    "/test/bench",
  ],
  timeoutMS: 15_000,
  timeoutFactor: 2,
  concurrency: 2,
  reporters: ["clear-text"],
  clearTextReporter: { allowColor: false, allowEmojis: false, logTests: false, reportTests: false },
  allowEmpty: true,
  disableTypeChecks: false,
  allowConsoleColors: false,
};
