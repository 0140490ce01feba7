import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fromStorable, toStorable } from "../../../../../clients/typescript/src/adapters/storable.js";
import { DEFAULT_LIMITS } from "../../../../../src/domain/limits.js";
import { checkStruct } from "../../../../../src/domain/validate-struct.js";

/** JSON of well-formed texts, with keys that mean something here. */
const key = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.constantFrom("$number", "$$number", "$bytes", "$$$bytes", "$json", "$$json", "$", "$x", "__proto__", "toJSON"),
);
const { json } = fc.letrec((tie) => ({
  json: fc.oneof(
    { maxDepth: 40, depthSize: "max" },
    fc.constantFrom(null, true, false, "7", "NaN", "QUJD", "[1]", "1e400"),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
    fc.string({ unit: "grapheme" }),
    fc.array(tie("json"), { maxLength: 3 }),
    fc.dictionary(key, tie("json"), { maxKeys: 3, noNullPrototype: true }),
  ),
}));

/** Whatever a tool may return. */
const anything = fc.anything({
  withBigInt: true,
  withBoxedValues: true,
  withDate: true,
  withMap: true,
  withSet: true,
  withObjectString: true,
  withNullPrototype: true,
  withSparseArray: true,
  withTypedArray: true,
  withUnicodeString: true,
  stringUnit: "binary",
});

const nested = (levels: number): unknown => JSON.parse(`${'{"a":['.repeat(levels)}1${"]}".repeat(levels)}`);
const isStored = (value: unknown) => {
  const stored = toStorable({ value });
  checkStruct("data", stored, DEFAULT_LIMITS);
  return stored;
};

describe("a value that is made storable", () => {
  it("comes back exactly when it is JSON, at any depth", () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(fromStorable(isStored(value))).toEqual({ value });
      }),
    );
    for (const levels of [11, 12, 13, 30, 400]) {
      const value = nested(levels);
      expect(fromStorable(isStored(value))).toEqual({ value });
    }
  });

  it("can be stored whatever it is, and is what JSON.stringify makes of it where that takes it", () => {
    fc.assert(
      fc.property(anything, (value) => {
        const stored = isStored(value);
        let text: string;
        try {
          text = JSON.stringify({ value }, (_key, item) => (typeof item === "string" ? item.toWellFormed() : item));
        } catch {
          return;
        }
        // Keys that are halves of characters may get another name here.
        if (JSON.stringify(JSON.parse(text)).includes("\\ud")) return;
        expect(fromStorable(stored)).toEqual(JSON.parse(text));
      }),
    );
  });

  const cyclic: Record<string, unknown> = { a: 1 };
  cyclic.self = cyclic;
  const throwing = {
    get bad() {
      throw new TypeError("No");
    },
    good: 1,
  };
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  const noText = Object.create(null);
  it.each([
    ["a bigint", 2n ** 64n, "18446744073709551616"],
    ["a boxed bigint", Object(7n), "7"],
    ["a cycle", cyclic, { a: 1, self: "[Circular]" }],
    ["a getter that throws", throwing, { bad: "[Threw TypeError: No]", good: 1 }],
    ["a toJSON that throws", { toJSON: () => Promise.reject.call(null) }, expect.stringMatching(/^\[Threw TypeError/)],
    [
      "a toJSON that throws no error",
      {
        toJSON() {
          throw noText;
        },
      },
      "[Threw an error without a text]",
    ],
    ["a revoked proxy", revoked.proxy, expect.stringMatching(/^\[Threw TypeError/)],
    ["an invalid date", new Date(Number.NaN), null],
    ["halves of characters", { "a\ud83d": ["\ude00"], "a\ud83e": 2 }, { "a\ufffd": ["\ufffd"], "a\ufffd\ufffd": 2 }],
    ["one object twice", [cyclic.a, [noText, noText]], [1, [{}, {}]]],
    ["bytes", new Uint8Array([1]), { 0: 1 }],
    ["the hole of a list", Object.assign([1], { 2: 2 }), [1, null, 2]],
  ])("is close to %s", (_name, value, expected) => {
    expect(fromStorable(isStored(value))).toEqual({ value: expected });
  });

  it("that is nested deeper than any stack does not cost the rest", () => {
    let deep: unknown = 1;
    for (let level = 0; level < 100_000; level++) deep = [deep];
    expect(fromStorable(toStorable({ deep, rest: 1 }))).toMatchObject({ rest: 1 });
  });

  it("keeps bytes for those who ask for it", () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const stored = toStorable({ bytes, more: [Buffer.from(bytes)] }, { keepBytes: true });
        checkStruct("data", stored, DEFAULT_LIMITS);
        expect(fromStorable(stored)).toEqual({ bytes, more: [bytes] });
      }),
    );
  });
});

describe("a stored value", () => {
  it.each([
    [{ $number: "9223372036854775807" }, 2 ** 63],
    [{ $number: "-1.5e3" }, -1500],
    [{ $number: "NaN" }, Number.NaN],
    [{ $number: "-Infinity" }, Number.NEGATIVE_INFINITY],
    [{ $number: "0x10" }, { $number: "0x10" }],
    [{ $number: 5 }, { $number: 5 }],
    [
      { $number: "5", other: 1 },
      { $number: "5", other: 1 },
    ],
    [{ $bytes: "QUI=" }, new Uint8Array([65, 66])],
    [{ $bytes: "?" }, { $bytes: "?" }],
    [{ $json: "[1" }, { $json: "[1" }],
    [{ $$number: "5" }, { $number: "5" }],
    [{ $text: "5" }, { $text: "5" }],
  ])("%j reads as %o, whoever wrote it", (stored, value) => {
    expect(fromStorable(stored)).toEqual(value);
    expect(fromStorable([{ a: stored }])).toEqual([{ a: value }]);
  });
});
