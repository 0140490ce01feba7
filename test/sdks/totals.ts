import type { Reporter, TestModule } from "vitest/node";
import type { SuiteTotals } from "./suite.js";

/** Ends a run with a table of the suites and one line of totals. */
export class TotalsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const rows = tests.flatMap((test) => test.meta().suite ?? []);
    rows.sort((a, b) => compare(a.sdk, b.sdk) || compare(a.suite, b.suite));
    console.log("\npassed  known  failed");
    for (const { sdk, suite, ...counts } of rows) console.log(`${columns(counts)}  ${sdk}: ${suite}`);
    const sum = (field: "passed" | "known" | "failed") => rows.reduce((total, row) => total + row[field], 0);
    const notRun = tests.filter((test) => test.meta().suite === undefined).length;
    console.log(
      `Suites of the SDKs: ${sum("passed")} passed, ${sum("known")} known failures, ${sum("failed")} failed, ` +
        `${notRun} suites not run`,
    );
  }
}

function columns({ passed, known, failed }: Omit<SuiteTotals, "sdk" | "suite">): string {
  return `${String(passed).padStart(6)}  ${String(known).padStart(5)}  ${String(failed).padStart(6)}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
