import { expect, it } from "vitest";
import { ChunkMaker } from "../../../../../clients/typescript/src/adapters/ui-chunks.js";
import type { StoredPart } from "../../../../../clients/typescript/src/adapters/ui-message.js";

const STEP = { type: "step-start", text: "" };

it("ends the texts of earlier steps before a step is begun again", () => {
  const maker = new ChunkMaker();
  const first = { type: "text", text: "kept", data: { citations: [{ citedText: "kept" }] } };
  maker.become(placed([STEP, first, STEP, { type: "text", text: "wrong" }]));
  expect(maker.become(placed([STEP, first, STEP, { type: "text", text: "right" }]))).toEqual([
    { type: "text-end", id: "text-1", citations: [{ citedText: "kept" }] },
    { type: "reset-step" },
    { type: "text-start", id: "text-3" },
    { type: "text-delta", id: "text-3", delta: "right" },
  ]);
  expect(maker.end()).toEqual([{ type: "text-end", id: "text-3" }]);
});

function placed(parts: readonly Omit<StoredPart, "id">[]): StoredPart[] {
  return parts.map((part, i) => ({ ...part, id: `${i}` }));
}
