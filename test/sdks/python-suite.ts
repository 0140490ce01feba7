import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../support/server.js";
import { describeWith } from "../support/toolchain.js";
import { preparePythonSuite, runPytest } from "./pypi.js";
import { judge, type KnownFailures, without } from "./suite.js";

/** What pip installs for the tests of openai-agents. */
export const OPENAI_AGENTS_NEEDS = [
  ...["openai-agents[encrypt]", "aiosqlite", "fastapi", "httpx", "inline-snapshot"],
  ...["pytest", "pytest-asyncio", "pytest-mock"],
];

export interface PythonSuite {
  /** The package of PyPI whose source distribution holds the tests. */
  readonly name: string;
  /** What pip installs for the tests, the package included. */
  readonly needs: readonly string[];
  /** What is tested, for the table. */
  readonly suite: string;
  /** The files whose tests run: those below `tests` with such a path, if they match `uses`. */
  readonly files: RegExp;
  readonly uses: RegExp;
  /** Our plug-in for pytest that puts our store in the place of theirs. */
  readonly plugin: string;
  readonly options?: readonly string[];
  readonly known: KnownFailures;
  /** Tests that say nothing about a store, because they fail or pass by chance. */
  readonly leftOut?: readonly string[];
}

/** Runs the tests of an SDK, with our store in place of the SDK's own, against a server of their own. */
export function describePythonSuite({
  name,
  needs,
  suite,
  files,
  uses,
  plugin,
  options,
  known,
  leftOut = [],
}: PythonSuite) {
  return describeWith(
    `${name} of PyPI`,
    () => preparePythonSuite(name, needs),
    (prepared) => {
      let server: TestServer;

      beforeAll(async () => {
        server = await startTestServer({ openAi: true });
      });

      afterAll(() => server?.stop());

      it("passes its own tests with our store", async ({ task }) => {
        const tests = readdirSync(join(prepared.source, "tests"), { recursive: true, encoding: "utf8" })
          .filter((path) => files.test(path))
          .map((path) => join("tests", path))
          .filter((path) => uses.test(readFileSync(join(prepared.source, path), "utf8")));
        const env = { SESSION_POOL_ADDRESS: server.grpcAddress, SESSION_POOL_URL: server.httpUrl };
        const outcomes = await runPytest(prepared, { tests: tests.sort(), plugin, options, env });
        const { problems, ...totals } = judge(without(outcomes, leftOut), known);
        task.meta.suite = { sdk: prepared.sdk, suite, ...totals };
        expect(problems).toEqual([]);
      });
    },
  );
}
