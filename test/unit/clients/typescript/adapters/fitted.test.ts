import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { countValues, sizeOf } from "../../../../../clients/typescript/src/adapters/batches.js";
import { fitted } from "../../../../../clients/typescript/src/adapters/fitted.js";
import { fromStorable } from "../../../../../clients/typescript/src/adapters/storable.js";
import type { NewMessage } from "../../../../../clients/typescript/src/index.js";
import { DEFAULT_LIMITS } from "../../../../../src/domain/limits.js";

// Other tests in the same process may have loaded these modules without the mock, and must not get them with it.
vi.hoisted(() => vi.resetModules());
afterAll(() => vi.resetModules());

vi.mock("../../../../../clients/typescript/src/adapters/batches.js", { spy: true });

const MIB = 1024 * 1024;
let lines: string[] = [];

beforeEach(() => {
  lines = [];
  vi.spyOn(console, "warn").mockImplementation((line) => void lines.push(line));
});
afterEach(() => vi.restoreAllMocks());

type Part = { id?: string; type: string; text?: string; data?: Record<string, unknown> };
const messageOf = (id: string, parts: readonly Part[], metadata?: Record<string, unknown>) =>
  ({ info: { id, role: "assistant", ...(metadata !== undefined && { metadata }) }, parts }) as NewMessage;
const partsOf = (message: NewMessage) => message.parts as Part[];
const marksOf = (message: NewMessage) => (message.info?.metadata as { truncated?: unknown } | undefined)?.truncated;

function expectFits(message: NewMessage): void {
  expect(sizeOf(message)).toBeLessThan(DEFAULT_LIMITS.messageBytes);
  expect(sizeOf({ info: { metadata: message.info?.metadata }, parts: [] } as NewMessage)).toBeLessThan(
    DEFAULT_LIMITS.metadataBytes,
  );
  expect(partsOf(message).length).toBeLessThanOrEqual(DEFAULT_LIMITS.parts);
  expect(countValues(message)).toBeLessThan(100_000);
}

describe("a message that is made to fit", () => {
  it("is the message itself when it fits", () => {
    const message = messageOf("small", [{ type: "text", text: "x".repeat(2 * MIB) }], { a: 1 });
    expect(fitted(message)).toBe(message);
    expect(lines).toEqual([]);
  });

  it("is measured only a few times, however many texts have to be cut", () => {
    const outputs = Array.from({ length: 1000 }, (_none, i) => `${i}`.padEnd(6000, "x"));
    const message = messageOf(
      "many",
      outputs.map((output) => ({ type: "tool-read", data: { output } })),
    );
    vi.mocked(sizeOf).mockClear();
    const cut = fitted(message);
    expect(vi.mocked(sizeOf).mock.calls.length).toBeLessThan(20);
    expectFits(cut);
    expect(partsOf(cut)).toHaveLength(outputs.length);
    expect(partsOf(cut).at(-1)?.data).toEqual({ output: outputs.at(-1) });
  });

  it("has its largest text cut and marked, and is logged once", () => {
    const text = "é👩‍🌾".repeat(400_000);
    const parts = [
      { type: "text", text: "Here it is" },
      { type: "tool-read", data: { toolCallId: "c", output: { file: [text] } } },
      { type: "text", text: "y".repeat(MIB / 2) },
    ];
    const message = messageOf("large", parts, { model: "m" });
    const cut = fitted(message);
    expectFits(cut);
    expect(sizeOf(cut)).toBeGreaterThan(2.7 * MIB);
    const [before, tool, after] = partsOf(cut);
    expect([before, after]).toEqual([parts[0], parts[2]]);
    const { output: read } = tool!.data as { output: { file: string[] } };
    const output = read.file[0] as string;
    expect(output).toMatch(/^(é👩‍🌾)+.{0,5}… \[truncated: \d+ of 2400000 characters\]$/u);
    expect(output.isWellFormed()).toBe(true);
    expect(cut.info?.metadata).toEqual({
      model: "m",
      truncated: [{ path: "parts[1].data.output.file[0]", length: text.length }],
    });
    expect(fitted(message)).toEqual(cut);
    expect(fitted(cut)).toBe(cut);
    expect(lines).toEqual([
      'session-pool: message "large" is over a limit and was truncated: parts[1].data.output.file[0] (2400000)',
    ]);
  });

  it("keeps values exactly that only are too many", () => {
    const output = Array.from({ length: 100_000 }, (_, i) => ({ i }));
    const cut = fitted(messageOf("many", [{ type: "tool-rows", data: { output } }]));
    expectFits(cut);
    expect(fromStorable(partsOf(cut)[0]?.data as never)).toEqual({ output });
    expect([marksOf(cut), lines]).toEqual([undefined, []]);
  });

  it("has lists that are too large as the beginning of their JSON text", () => {
    const output = Array.from({ length: 100_000 }, (_, i) => ({ row: `number ${i}, and more of it` }));
    const cut = fitted(messageOf("rows", [{ type: "tool-rows", data: { output, toolCallId: "c" } }]));
    expectFits(cut);
    const { output: kept, toolCallId } = partsOf(cut)[0]?.data ?? {};
    expect(toolCallId).toBe("c");
    expect(kept).toMatch(/^\[\{"row":"number 0, and more of it"\},.*… \[truncated: \d+ of \d+ characters\]$/);
  });

  it.each([
    ["texts", Array.from({ length: 15_000 }, () => ({ type: "text", text: "x".repeat(300) }))],
    ["data", Array.from({ length: 9_000 }, () => ({ type: "data-x", data: { a: "x".repeat(400) } }))],
    ["values", Array.from({ length: 9_000 }, () => ({ type: "data-x", data: { a: [1, 2, 3, 4, 5, 6, 7, 8, 9] } }))],
  ])("has fewer parts when they are many small ones, with %s", (name, parts) => {
    const cut = fitted(messageOf(name, parts));
    expectFits(cut);
    expect(partsOf(cut)).toEqual(parts.slice(0, partsOf(cut).length));
    expect(partsOf(cut).length).toBeGreaterThan(2000);
    expect(marksOf(cut)).toEqual([{ path: "parts", length: parts.length }]);
  });

  it.each([
    ["a long text", { a: "x".repeat(100_000), b: 1 }, { b: 1, a: expect.stringMatching(/^x+… \[truncated: /) }],
    ["many values", { a: Array.from({ length: 20_000 }, () => 1) }, {}],
  ])("has metadata that fit when they have %s", (name, metadata, expected) => {
    const cut = fitted(messageOf(name, [{ type: "text", text: "kept" }], metadata));
    expectFits(cut);
    expect(cut.info?.metadata).toEqual({
      ...expected,
      truncated: [expect.objectContaining({ path: expect.any(String) })],
    });
    expect(partsOf(cut)).toEqual([{ type: "text", text: "kept" }]);
  });
});
