import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { countValues, parseJson } from "../../../src/codec/json-text.js";

const ROOM = { mostValues: 1000, holdValues: () => {} };
const parse = (text: string): unknown => parseJson(Buffer.from(text), ROOM);

/** An empty object or list counts as one value. */
function valuesIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const inside = Object.values(value);
  return Math.max(inside.length, 1) + inside.reduce<number>((sum, one) => sum + valuesIn(one), 0);
}

describe("parseJson", () => {
  test("reads what JSON.parse reads", () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom(undefined, 2, "\t"), (json, indent) => {
        const text = JSON.stringify(JSON.parse(json), undefined, indent);
        expect(parse(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  test("holds room for as many values as the text has", () => {
    const piece = fc.constantFrom('"', "\\", "[", "]", "{", "}", ",", "é", "\u{1F600}", "x".repeat(15), "y".repeat(40));
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { depthSize: "small" },
        fc.string({ unit: piece, maxLength: 20 }),
        fc.double(),
        fc.array(tie("value"), { maxLength: 4 }),
        fc.dictionary(fc.string({ unit: piece, maxLength: 3 }), tie("value"), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(value, (given) => {
        const text = JSON.stringify(given);
        expect(countValues(Buffer.from(text), 1000)).toBe(1 + valuesIn(JSON.parse(text)));
      }),
    );
  });

  test("counts no values in a string that does not end", () => {
    for (const text of ['["', '["\\', `["${",".repeat(100)}`, `["${",".repeat(100)}\\"`, `["${'\\"'.repeat(100)}`]) {
      expect(countValues(Buffer.from(text), 10)).toBe(2);
    }
  });

  test.each([
    '{"a":1,"b":[{"a":2},{"a":3}],"c":{"a":4}}',
    '["a","a",{"a":"a"},"a","a"]',
    '{"a\\"":"\\\\","b":",\\"a\\":1"}',
    '{"a":{},"b":1}',
    '{"a":[{"x":1}],"b":["b","a"]}',
    '{"emoji":"\\ud83d\\ude00","same":"😀"}',
    `${"[".repeat(100)}${"]".repeat(100)}`,
    " {} ",
  ])("accepts %s", (text) => {
    expect(parse(text)).toEqual(JSON.parse(text));
  });

  test.each([
    ['{"a":1,"a":1}', 'the key "a" twice'],
    ['{"x":[{"a":1,"b":{},"a":null}]}', 'the key "a" twice'],
    ['{"a":[1,2],"b":"a","a":3}', 'the key "a" twice'],
    ['{"a":1,"\\u0061":2}', 'the key "a" twice'],
    ['{"__proto__":1,"__proto__":2}', 'the key "__proto__" twice'],
    ['{"":1,"":2}', 'the key "" twice'],
    ['{"a":"\\ud800"}', "a lone surrogate"],
    ['{"\\uDC00":1}', "a lone surrogate"],
    [`${"[".repeat(101)}${"]".repeat(101)}`, "more than 100 levels"],
    [`${'{"a":'.repeat(200_000)}1${"}".repeat(200_000)}`, "more than 100 levels"],
    ["", "not valid JSON"],
    ["{", "not valid JSON"],
    ["{'a':1}", "not valid JSON"],
    ['{"a":1,}', "not valid JSON"],
    ["NaN", "not valid JSON"],
    ["\ufeff{}", "not valid JSON"],
    ["{}{}", "not valid JSON"],
  ])("refuses %.40s", (text, problem) => {
    expect(() => parse(text)).toThrow(problem);
  });

  test.each<[what: string, text: string, values: number]>([
    ["elements", `[${"0,".repeat(999)}0]`, 1001],
    ["empty lists", `[${"[],".repeat(499)}[]]`, 1001],
    ["empty objects", `[${"{},".repeat(499)}{}]`, 1001],
    ["members, even of one name", `{${'"a":0,'.repeat(999)}"a":0}`, 1001],
    ["members without an end", '{"a":'.repeat(99) + ",".repeat(901), 1001],
    ["nothing in a text", JSON.stringify(["\\", ...Array(998).fill(0), '[{,"']), 1001],
  ])("counts %s, and stops at the limit", (_what, text, values) => {
    const held: number[] = [];
    const room = (mostValues: number) => ({ mostValues, holdValues: (count: number) => void held.push(count) });
    const parse = (limit: number) => () => parseJson(Buffer.from(text), room(limit));
    expect(parse(values - 1)).toThrow(`The request holds more than ${values - 1} values`);
    expect(held).toEqual([]);
    try {
      parse(values)();
    } catch (error) {
      expect(String(error)).not.toContain("values");
    }
    expect(held).toEqual([values]);
  });

  test.each([
    ['{"n":9007199254740993}', "n: the integer 9007199254740993"],
    ['{"n":-9007199254740993}', "n: the integer -9007199254740993"],
    ["9007199254740993", "body: the integer 9007199254740993"],
    ['{"a":[0,{"b,":"1","n":[3,[],{},9007199254740995]}]}', "a[1].n[3]: the integer 9007199254740995"],
    ['{"a":{"b":{}},"c":[[1],[2,9007199254740993]]}', "c[1][1]: the integer"],
    ['{"x\\"":12345678901234567891,"y":1}', 'x": the integer 12345678901234567891'],
    [`{"n":1${"0".repeat(400)}}`, `n: the integer 1${"0".repeat(39)}… is not exact`],
  ])("refuses an integer that no double holds: %s", (text, problem) => {
    expect(() => parse(text)).toThrow(problem);
  });

  test("reads numbers as long as a body", () => {
    const digits = "1".repeat(20_000_000);
    for (const integer of [digits, `-${digits}`]) expect(() => parse(`{"n":${integer}}`)).toThrow("n: the integer");
    expect(parse(`{"n":0.${digits}}`)).toEqual({ n: 1 / 9 });
    expect(parse(`{"n":1e-${digits}}`)).toEqual({ n: 0 });
  });

  test.each([
    '{"n":[3,-0,9007199254740991,9007199254740992,-9007199254740994]}',
    '{"n":[9223372036854775808,9223372036854776000,123456789012345680000]}',
    '{"n":["9007199254740993",9007199254740993.5,9007199254740993e0,0.1234567890123456789]}',
    '{"9007199254740993":"\\\\","1234567890123456789":1}',
  ])("accepts numbers that are doubles, that have a fraction or an exponent, and digits in texts: %s", (text) => {
    expect(parse(text)).toEqual(JSON.parse(text));
  });

  test("accepts every double as JSON writes it", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.maxSafeInteger(), (double, factor) => {
        for (const value of [double, Math.trunc(double), factor * 1000, factor * 2 ** 12]) {
          const text = JSON.stringify({ value });
          expect(parse(text)).toEqual(JSON.parse(text));
        }
      }),
    );
  });

  test("refuses bytes that are not UTF-8", () => {
    for (const bytes of [
      [0x22, 0xff, 0x22],
      [0x22, 0xc0, 0x80, 0x22],
      [0x22, 0xed, 0xa0, 0x80, 0x22],
    ]) {
      expect(() => parseJson(Buffer.from(bytes), ROOM)).toThrow("not valid UTF-8");
    }
  });

  test("keeps a key that is called __proto__", () => {
    expect(Object.keys(parse('{"__proto__":{"a":1}}') as object)).toEqual(["__proto__"]);
  });
});
