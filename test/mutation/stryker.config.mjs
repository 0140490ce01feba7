// The settings of StrykerJS for every file. run.mjs decides which file is mutated, and tests.mjs which tests run.
export default {
  testRunner: "vitest",
  plugins: ["@stryker-mutator/vitest-runner"],
  vitest: { configFile: "test/mutation/vitest.config.mjs", related: false },
  // StrykerJS cannot read the settings of TypeScript 7. It ignores a file that does not exist, and vitest needs no
  // settings.
  tsconfigFile: "test/mutation/no-tsconfig.json",
  coverageAnalysis: "perTest",
  incremental: true,
  // A mutant of code that runs when its module is loaded would need all tests to run.
  ignoreStatic: true,
  // Texts are for people. Code that depends on a text is mutated itself.
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
