import { describe, expect, it } from "vitest";
import { outcomeOf } from "../../../../../src/console/app/parts/outcome.js";
import type { CallView } from "../../../../../src/parts/part-view.js";

describe("outcomes", () => {
  const call: CallView = { kind: "call", callId: "c", name: "bash", args: {} };
  const result = { kind: "result", callId: "c", name: "", isError: true, output: { text: "no", images: [] } } as const;

  it("come from the result, whose time ends the duration", () => {
    const found = { result, position: 4, timestamp: "2026-11-20T09:14:02.5Z" };
    expect(outcomeOf(call, "2026-11-20T09:14:00Z", found)).toEqual({
      status: "failed",
      output: result.output,
      durationMs: 2500,
    });
  });

  it("are unknown until there is a result", () => {
    expect(outcomeOf(call, "2026-11-20T09:14:00Z", undefined).status).toBeUndefined();
  });

  it.each([
    ["running", "writing", "running"],
    ["running", "last", "unended"],
    ["pending", "over", "unended"],
    ["asking", "writing", "asking"],
    ["asking", "last", "asking"],
    ["asking", "over", "unended"],
    ["done", "over", "done"],
    [undefined, "over", undefined],
  ] as const)("of a call that is %s in a message that is %s are %s", (status, stage, expected) => {
    const open = status === undefined ? call : { ...call, status };
    expect(outcomeOf(open, "2026-11-20T09:14:00Z", undefined, stage).status).toBe(expected);
    const found = { result, position: 4, timestamp: "2026-11-20T09:14:02.5Z" };
    expect(outcomeOf(open, "2026-11-20T09:14:00Z", found, stage).status).toBe("failed");
  });
});
