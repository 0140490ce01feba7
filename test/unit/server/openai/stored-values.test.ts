import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ExactObject, parseExactJson, writeExactJson } from "../../../../src/codec/exact-json.js";
import { DEFAULT_LIMITS } from "../../../../src/domain/limits.js";
import { checkStruct } from "../../../../src/domain/validate-struct.js";
import { fromStored, toStored } from "../../../../src/server/openai/stored-values.js";

const ROOM = { mostValues: 100_000, holdValues: () => {} };

/** The JSON text of an object after it was stored and read again. */
function roundTrip(text: string): string {
  return writeExactJson(fromStored(stored(text)));
}

function stored(text: string): ReturnType<typeof toStored> {
  return toStored(parseExactJson(Buffer.from(text), ROOM) as ExactObject);
}

/** A value inside of so many objects. */
function nested(levels: number, inner: unknown): unknown {
  return levels === 0 ? inner : { a: nested(levels - 1, inner) };
}

/** The exact value of a number literal, as an integer times 10^-1000. */
function exactValue(literal: string): bigint {
  const [mantissa = "", exponent = "0"] = literal.split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  return BigInt(whole + fraction) * 10n ** BigInt(1000 + Number(exponent) - fraction.length);
}

describe("values of OpenAI's items", () => {
  it.each([
    "9223372036854775807",
    "-9223372036854775809",
    "123456789012345680000",
    "1.2345678901234568e20",
    "1180591620717411303424",
    "9007199254740993",
    "9007199254740993.0",
    "123456789012345678901234567890123456789",
    "0.1234567890123456789",
    "1e400",
    "-1e400",
    "1e-400",
  ])("keep the number %s digit for digit", (digits) => {
    expect(stored(`{"n":[${digits}]}`)).toEqual({ n: [{ $number: digits }] });
    expect(roundTrip(`{"n":[${digits}],"s":"x"}`)).toBe(`{"n":[${digits}],"s":"x"}`);
  });

  it.each([
    "0",
    "-1.5",
    "9007199254740991",
    "9007199254740992",
    "-9223372036854775808",
    "1152921504606846976",
    "0.1",
    "1e+21",
    "5e-324",
    "1.7976931348623157e+308",
  ])("store the number %s, which a double has, as it is", (digits) => {
    expect(stored(`{"n":${digits}}`)).toEqual({ n: Number(digits) });
    expect(roundTrip(`{"n":${digits}}`)).toBe(`{"n":${digits}}`);
  });

  it("come back with the same value, whatever number it is", () => {
    const literal = fc
      .tuple(
        fc.constantFrom("", "-"),
        fc.bigInt({ min: 0n, max: 10n ** 30n }),
        fc.nat(),
        fc.integer({ min: -400, max: 400 }),
      )
      .map(([sign, whole, fraction, exponent]) => `${sign}${whole}.${fraction}e${exponent}`);
    fc.assert(
      fc.property(fc.oneof(fc.bigInt().map(String), literal), (digits) => {
        expect(exactValue(roundTrip(`{"n":${digits}}`).slice('{"n":'.length, -1))).toEqual(exactValue(digits));
      }),
    );
  });

  it("come back as they were, whatever JSON they are", () => {
    const key = fc.oneof(
      fc.constantFrom("$number", "$$number", "$bytes", "$json", "$$$json", "$other", ""),
      fc.string(),
    );
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 30, depthIdentifier: "tree" },
        fc.constantFrom<unknown>(null, true, 1.5, "5", "NaN", "[1]", "AAE="),
        fc.dictionary(key, tie("tree"), { maxKeys: 2 }),
        fc.array(tie("tree"), { maxLength: 2 }),
      ),
    }));
    fc.assert(
      fc.property(tree, (value) => {
        const text = JSON.stringify({ value });
        expect(JSON.parse(roundTrip(text))).toEqual(JSON.parse(text));
      }),
    );
  });

  it("are kept at any depth that a request may have, within the levels of a Struct", () => {
    const text = JSON.stringify(nested(90, { n: 1, $number: "x" })).replace('"n":1', '"n":9007199254740993');
    expect(() => checkStruct("data", stored(text), DEFAULT_LIMITS)).not.toThrow();
    expect(roundTrip(text)).toBe(text);
  });

  it("have U+FFFD for a half of a character, and all other escapes as they were", () => {
    const text = String.raw`{"a\ud83d":"\ud83d\ude00 \\ud83d \ud83d \uD83D\ud83d\ude00 \udE00","b":"\"\ud800\""}`;
    expect(JSON.parse(roundTrip(text))).toEqual({
      "a\ufffd": "\u{1f600} \\ud83d \ufffd \ufffd\u{1f600} \ufffd",
      b: '"\ufffd"',
    });
  });

  it("are what other programs meant by an envelope, and unchanged where it is none", () => {
    const read = fromStored({
      a: { $number: "NaN" },
      b: { $number: "5e3" },
      c: { $number: "05" },
      d: { $bytes: "AAE=" },
      e: { $json: "[1" },
      f: { $json: '[[{"$number":"9007199254740993"}]]' },
      g: { $$number: "1" },
    });
    expect(writeExactJson(read)).toBe(
      '{"a":"NaN","b":5e3,"c":{"$number":"05"},"d":{"$bytes":"AAE="},"e":{"$json":"[1"},"f":[[9007199254740993]],"g":{"$number":"1"}}',
    );
  });
});
