// Ends a run: names what was skipped and what failed, prints the totals of all test runs as the last line, and exits
// with 1 unless all is well. Arguments: the number of other checks that failed, then for each test run the path of its
// results and its exit code.
import { existsSync, readFileSync } from "node:fs";
import { relative } from "node:path";

const [failedChecks, ...runs] = process.argv.slice(2);
const totals = { passed: 0, failed: Number(failedChecks), skipped: 0 };
for (let i = 0; i < runs.length; i += 2) {
  const { passed, failed, skipped } = totalsOf(runs[i], runs[i + 1]);
  totals.passed += passed;
  totals.failed += failed;
  totals.skipped += skipped;
}
if (totals.failed > 0) process.exitCode = 1;
console.log(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);

function totalsOf(resultsPath, testExit) {
  const files = existsSync(resultsPath) ? JSON.parse(readFileSync(resultsPath, "utf8")).testResults : [];
  const tests = files.flatMap(({ name, assertionResults }) =>
    assertionResults.map(({ fullName, status }) => ({ file: relative(process.cwd(), name), fullName, status })),
  );
  const passed = tests.filter(({ status }) => status === "passed");
  const failed = tests.filter(({ status }) => status === "failed");
  const skipped = tests.filter(({ status }) => status !== "passed" && status !== "failed");

  // Files that could not be loaded have no tests, and fail all the same.
  const brokenFiles = files.filter(
    ({ status, assertionResults }) =>
      status === "failed" && !assertionResults.some(({ status }) => status === "failed"),
  );
  // What needs another program must really have run: none of its files may be skipped as a whole.
  const unrunFiles = new Set(
    skipped
      .map(({ file }) => file)
      .filter((file) => /mongo|interop|browser/.test(file) && !passed.some((test) => test.file === file)),
  );

  for (const { file, fullName } of skipped) console.log(`skipped: ${file}: ${fullName}`);
  for (const { file, fullName } of failed) console.log(`failed: ${file}: ${fullName}`);
  for (const { name, message } of brokenFiles) console.log(`failed: ${relative(process.cwd(), name)}: ${message}`);
  for (const file of unrunFiles) console.log(`failed: ${file} was skipped`);
  if (passed.length === 0) console.log(`failed: no test of ${resultsPath} ran`);

  const failedTests = failed.length + brokenFiles.length + unrunFiles.size;
  // An error outside of all tests, or a run that began none, fails the run and no test.
  const strayErrors = failedTests === 0 && (testExit !== "0" || passed.length === 0) ? 1 : 0;
  return { passed: passed.length, failed: failedTests + strayErrors, skipped: skipped.length };
}
