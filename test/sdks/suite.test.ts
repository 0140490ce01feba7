import { describe, expect, it } from "vitest";
import { judge, type Outcome, without } from "./suite.js";

const passed: Outcome = { outcome: "passed", error: "" };
const skipped: Outcome = { outcome: "skipped", error: "" };
const failed: Outcome = { outcome: "failed", error: "AssertionError:\n  1 != 2" };

describe("judge", () => {
  it("counts what passed and what is known to fail", () => {
    const outcomes = new Map([
      ["a", passed],
      ["b[1]", failed],
      ["b[2]", failed],
      ["c[1]", failed],
      ["c[2]", passed],
      ["d", skipped],
    ]);
    const known = { "looks into SQLite": ["b"], "needs a clock": ["c[1]"] };
    expect(judge(outcomes, known)).toEqual({ passed: 2, known: 3, failed: 0, problems: [] });
  });

  it("tells of a failure that is not listed, in one line", () => {
    const { problems, ...counts } = judge(new Map([["a[1]", failed]]), {});
    expect(counts).toEqual({ passed: 0, known: 0, failed: 1 });
    expect(problems).toEqual(["a[1] fails: AssertionError: 1 != 2"]);
  });

  it("tells of listed tests that pass or did not run", () => {
    const outcomes = new Map([
      ["a[1]", failed],
      ["a[2]", passed],
      ["b", skipped],
    ]);
    const { problems } = judge(outcomes, { "for a reason": ["a", "b", "c"] });
    expect(problems).toEqual([
      "a[2] passes, and is listed as a failure",
      "b is listed, and did not run",
      "c is listed, and did not run",
    ]);
  });

  it("tells when nothing ran", () => {
    expect(judge(new Map(), {}).problems).toEqual(["No test ran"]);
    expect(judge(without(new Map([["a[1]", failed]]), ["a"]), {}).problems).toEqual(["No test ran"]);
  });
});
