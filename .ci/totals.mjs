// Ends a run: names what was skipped and then what failed, prints the totals of all test runs as the last line, and
// exits with 1 unless all is well. Arguments: the number of other checks that failed, then for each test run the path of
// its results and its exit code.
import { existsSync, readFileSync } from "node:fs";
import { relative } from "node:path";

const [failedChecks, ...args] = process.argv.slice(2);
const runs = [];
for (let i = 0; i < args.length; i += 2) runs.push(readRun(args[i], args[i + 1]));

for (const { skipped } of runs) for (const test of skipped) console.log(`skipped: ${test}`);
for (const { failures } of runs) for (const failure of failures) console.log(`failed: ${failure}`);

const sum = (count) => runs.reduce((total, run) => total + count(run), 0);
const passed = sum((run) => run.passed);
const failed = Number(failedChecks) + sum((run) => run.failures.length);
const skipped = sum((run) => run.skipped.length);
if (failed > 0) process.exitCode = 1;
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);

function readRun(resultsPath, testExit) {
  const files = existsSync(resultsPath) ? JSON.parse(readFileSync(resultsPath, "utf8")).testResults : [];
  const tests = files.flatMap(({ name, assertionResults }) =>
    assertionResults.map(({ fullName, status, failureMessages }) => {
      const file = relative(process.cwd(), name);
      return { file, name: `${file}: ${fullName}`, status, error: failureMessages?.[0] };
    }),
  );
  const passed = tests.filter(({ status }) => status === "passed");
  const skipped = tests.filter(({ status }) => status !== "passed" && status !== "failed");

  const failures = tests.filter(({ status }) => status === "failed").map(({ name, error }) => withError(name, error));
  // Files that could not be loaded have no tests, and fail all the same.
  for (const { name, status, message, assertionResults } of files)
    if (status === "failed" && !assertionResults.some(({ status }) => status === "failed"))
      failures.push(withError(relative(process.cwd(), name), message));
  // What needs another program must really have run: none of its files may be skipped as a whole.
  const unrunFiles = new Set(
    skipped
      .map(({ file }) => file)
      .filter(
        (file) => /mongo|postgres|pgbouncer|interop|browser/.test(file) && !passed.some((test) => test.file === file),
      ),
  );
  for (const file of unrunFiles) failures.push(`${file} was skipped`);
  // An error outside of all tests, or a run that began none, fails the run and no test.
  if (passed.length === 0) failures.push(`no test of ${resultsPath} ran`);
  else if (failures.length === 0 && testExit !== "0")
    failures.push(`the run of ${resultsPath} exited with ${testExit}, by an error outside of all tests`);

  return { passed: passed.length, failures, skipped: skipped.map(({ name }) => name) };
}

function withError(name, error) {
  const [text] = (error ?? "").split("\n    at ");
  return text ? `${name}: ${text.slice(0, 1000)}` : name;
}
