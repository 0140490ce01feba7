import { expect, it } from "vitest";
import { toolsOf } from "../../../../../src/parts/tools.js";
import { TOOL_MARKS } from "../../../../../src/storage/history/sums/tool-counter.js";
import { SAMPLES } from "../../../parts/samples.js";

it("every known form of a call or a result has one of the words without which nothing is decoded", () => {
  const forms = SAMPLES.filter(({ part }) => {
    const { calls, results } = toolsOf([part]);
    return calls.length + results.length > 0;
  });
  expect(forms.length).toBeGreaterThan(15);
  for (const { part } of forms)
    expect(
      TOOL_MARKS.some((mark) => JSON.stringify(part).includes(mark)),
      part.type,
    ).toBe(true);
});
