// Ends a run: names what was skipped and what failed, prints the totals as the last line, and exits with 1 unless all is well.
import { existsSync, readFileSync } from "node:fs";
import { relative } from "node:path";

const [resultsPath, testExit, failedChecks] = process.argv.slice(2);
const files = existsSync(resultsPath) ? JSON.parse(readFileSync(resultsPath, "utf8")).testResults : [];
const tests = files.flatMap(({ name, assertionResults }) =>
  assertionResults.map(({ fullName, status }) => ({ file: relative(process.cwd(), name), fullName, status })),
);
const passed = tests.filter(({ status }) => status === "passed");
const failed = tests.filter(({ status }) => status === "failed");
const skipped = tests.filter(({ status }) => status !== "passed" && status !== "failed");

/** Files that could not be loaded have no tests, and fail all the same. */
const brokenFiles = files.filter(
  ({ status, assertionResults }) => status === "failed" && !assertionResults.some(({ status }) => status === "failed"),
);
/** What needs another program must really have run: none of its files may be skipped as a whole. */
const unrunFiles = new Set(
  skipped
    .map(({ file }) => file)
    .filter((file) => /mongo|interop|browser/.test(file) && !passed.some((test) => test.file === file)),
);

for (const { file, fullName } of skipped) console.log(`skipped: ${file}: ${fullName}`);
for (const { file, fullName } of failed) console.log(`failed: ${file}: ${fullName}`);
for (const { name, message } of brokenFiles) console.log(`failed: ${relative(process.cwd(), name)}: ${message}`);
for (const file of unrunFiles) console.log(`failed: ${file} was skipped`);
if (passed.length === 0) console.log("failed: no test ran");

const failedTests = failed.length + brokenFiles.length + unrunFiles.size;
/** An error outside of all tests fails the run, and no test. */
const strayErrors = failedTests === 0 && testExit !== "0" ? 1 : 0;
const failures = failedTests + strayErrors + Number(failedChecks);
if (failures > 0 || passed.length === 0) process.exitCode = 1;
console.log(`${passed.length} passed, ${failures} failed, ${skipped.length} skipped`);
