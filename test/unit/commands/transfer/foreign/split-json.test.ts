import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Piece, splitJson } from "../../../../../src/commands/transfer/foreign/split-json.js";

async function* chunksOf(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function split(content: string | Buffer, { chunkBytes = 7, maxBytes = 1_000_000 } = {}): Promise<Piece[]> {
  const pieces: Piece[] = [];
  const bytes = Buffer.from(content as string);
  for await (const piece of splitJson(chunksOf(bytes, chunkBytes), maxBytes)) pieces.push(piece);
  return pieces;
}

const valuesOf = (pieces: readonly Piece[]) =>
  pieces.map((piece) => (piece.kind === "value" ? JSON.parse(piece.bytes.toString()) : piece.kind));

describe("a document is split into", () => {
  const values = fc.array(fc.jsonValue({ maxDepth: 4 }), { maxLength: 6 });
  const objects = fc.array(fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue()), {
    minLength: 1,
    maxLength: 6,
  });
  const chunkBytes = fc.integer({ min: 1, max: 40 });

  it("the items of a list, however it is printed and wherever it is cut", async () => {
    await fc.assert(
      fc.asyncProperty(values, chunkBytes, fc.constantFrom(0, 2, "\t"), async (list, size, space) => {
        const text = JSON.stringify(list, null, space);
        // A list of numbers, or one of text alone, is nothing that any program writes.
        fc.pre(list.length === 0 || (typeof list[0] === "object" && list[0] !== null));
        expect(valuesOf(await split(text, { chunkBytes: size }))).toEqual(JSON.parse(text));
      }),
    );
  });

  it("lines, with and without a line feed at the end", async () => {
    await fc.assert(
      fc.asyncProperty(objects, chunkBytes, fc.constantFrom("\n", "\r\n", "\n\n"), async (list, size, end) => {
        const text = list.map((one) => JSON.stringify(one)).join(end);
        const expected = list.map((one) => JSON.parse(JSON.stringify(one)));
        expect(valuesOf(await split(text, { chunkBytes: size }))).toEqual(expected);
        expect(valuesOf(await split(text + end, { chunkBytes: size }))).toEqual(expected);
      }),
    );
  });

  it("one object, printed over many lines", async () => {
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue()), async (one) => {
        expect(valuesOf(await split(JSON.stringify(one, null, 2)))).toEqual([JSON.parse(JSON.stringify(one))]);
      }),
    );
  });
});

it("several lists, one after another, as when files are joined, and text between them", async () => {
  const lists = fc.array(fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { minLength: 1 }), { minLength: 1 });
  const between = fc.constantFrom("", "\n", ",\n", "\n[done] 1 {\n");
  await fc.assert(
    fc.asyncProperty(lists, between, fc.integer({ min: 1, max: 40 }), async (all, text, chunkBytes) => {
      const pieces = await split(all.map((list) => JSON.stringify(list)).join(text), { chunkBytes });
      const outside = (all.length - 1) * text.replaceAll(/\s/g, "").length;
      const skipped = outside > 0 ? [{ kind: "skipped", bytes: outside }] : [];
      expect(valuesOf(pieces.filter(({ kind }) => kind === "value"))).toEqual(JSON.parse(JSON.stringify(all.flat())));
      expect(pieces.filter(({ kind }) => kind !== "value")).toEqual(skipped);
    }),
  );
});

describe("a document", () => {
  it.each([
    ["a byte order mark", '\ufeff[{"a":1}]', [{ a: 1 }]],
    ["lines of a program", 'Exporting session: s\n[info] done [1]\n{"a":1}', ["skipped", { a: 1 }]],
    ["the same in front of a list", 'Exporting\n[\n{"a":1}]', ["skipped", { a: 1 }]],
    ["text after the list", '[{"a":1}]\nDone.', [{ a: 1 }, "skipped"]],
  ])("may have %s", async (_, text, expected) => {
    expect(valuesOf(await split(text))).toEqual(expected);
  });

  it.each([",", "\n"])("is read no further than it has to be, with %j between its values", async (between) => {
    const value = Buffer.from(`{"a":"${"x".repeat(10_000)}"}`);
    let pulled = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      if (between === ",") yield Buffer.from("[");
      for (;;) {
        pulled += value.length + 1;
        yield Buffer.concat([value, Buffer.from(between)]);
      }
    }
    let taken = 0;
    for await (const piece of splitJson(endless(), 1_000_000)) {
      expect(piece.kind === "value" && value.equals(piece.bytes)).toBe(true);
      taken += value.length + 1;
      // What tells the form of the document is read first.
      expect(pulled - taken).toBeLessThanOrEqual(Math.max(0, 300_000 - taken) + 3 * value.length);
      if (taken > 5_000_000) break;
    }
  });

  it("loses only the values that are too long", async () => {
    const long = { a: "x".repeat(100) };
    const options = { maxBytes: 50 };
    expect(valuesOf(await split(JSON.stringify([{ a: 1 }, long, { b: 1 }]), options))).toEqual([
      { a: 1 },
      "lost",
      { b: 1 },
    ]);
    const lines = [{ a: 1 }, long, { b: 1 }].map((one) => JSON.stringify(one)).join("\n");
    expect(valuesOf(await split(lines, options))).toEqual([{ a: 1 }, "lost", { b: 1 }]);
  });

  it("loses only its last value when it is cut off", async () => {
    expect(valuesOf(await split('[{"a":1},{"b":'))).toEqual([{ a: 1 }, "lost"]);
    expect(valuesOf(await split('[{"a":1},'))).toEqual([{ a: 1 }, "lost"]);
  });

  it("keeps what comes after an item that is not JSON", async () => {
    const pieces = await split('[{"a":1},{"b":oops},{"c":1}]');
    expect(pieces.map((piece) => piece.kind === "value" && piece.bytes.toString())).toEqual([
      '{"a":1}',
      '{"b":oops}',
      '{"c":1}',
    ]);
  });
});
