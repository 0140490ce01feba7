import { describe, expect, it } from "vitest";
import { argsLine, errorLine, firstLine, withoutMarks } from "../../../src/parts/lines.js";

describe("lines of texts", () => {
  it.each([
    ["# What is **new** in `2.4`", "What is new in 2.4"],
    ["- a list with *stars* and _lines_", "a list with stars and lines"],
    ["snake_case_names and 2 * 3 * 4 stay", "snake_case_names and 2 * 3 * 4 stay"],
    ["", ""],
  ])("omit Markdown's markup: %s", (text, plain) => {
    expect(withoutMarks(text)).toBe(plain);
  });

  it("are shortened to the start of the first line that has text", () => {
    expect(firstLine("---\n\n## Heading and more", 8)).toBe("Heading…");
  });
});

describe("lines of calls", () => {
  it.each([
    [{ command: "ls -la" }, "ls -la"],
    [{ path: "a.ts", tail: 40 }, "path: a.ts, tail: 40"],
    ["two\nlines", "two lines"],
    [undefined, ""],
    [{ text: "x".repeat(500) }, `${"x".repeat(159)}…`],
  ])("show the arguments %j in one line", (args, line) => {
    expect(argsLine(args)).toBe(line);
  });

  it.each([
    ["FAIL a.test.ts\nAssertionError: expected 1 to be 2\n  at a.test.ts:4", "AssertionError: expected 1 to be 2"],
    ["reading orders.csv\nline 4211: unexpected column", "line 4211: unexpected column"],
    ["nothing to see", "nothing to see"],
  ])("show why %j failed", (text, line) => {
    expect(errorLine({ text, images: [] })).toBe(line);
  });

  it("show the error message of a failure in JSON", () => {
    expect(errorLine({ json: { code: 5, message: "Not here" }, images: [] })).toBe("Not here");
  });
});
