import { describe, expect, it } from "vitest";
import { DomainError } from "../../../src/domain/errors.js";
import { DEFAULT_LIMITS } from "../../../src/domain/limits.js";
import { checkExpected, checkId, checkOptionalId, checkText } from "../../../src/domain/validate.js";
import { checkMessageQuery, checkOffset, pageLimit } from "../../../src/domain/validate-page.js";
import { checkNewSession, checkSessionChange } from "../../../src/domain/validate-session.js";
import { checkStruct } from "../../../src/domain/validate-struct.js";

const REFUSED_IDS: [string, string, string][] = [
  ["empty", "", "id is required"],
  ["129 bytes", "x".repeat(129), "id is 129 bytes; at most 128 are allowed"],
  ["129 bytes in 43 characters", "語".repeat(43), "id is 129 bytes; at most 128 are allowed"],
  ["a C0 control", "a\u0000b", "id must not contain control characters"],
  ["a line feed", "a\n", "id must not contain control characters"],
  ["DEL", "a\u007f", "id must not contain control characters"],
  ["the first C1 control", "\u0080", "id must not contain control characters"],
  ["the last C1 control", "\u009f", "id must not contain control characters"],
  ["a dot", ".", 'id must not be "." or ".."'],
  ["two dots", "..", 'id must not be "." or ".."'],
  ["a lone surrogate", "a\ud800", "id is not well-formed Unicode: it holds a lone surrogate"],
];

describe("checkId", () => {
  it.each(REFUSED_IDS)("refuses %s", (_what, id, message) => {
    expect(() => checkId("id", id, DEFAULT_LIMITS)).toThrow(refusal(message));
  });

  it.each(["a", "...", ".a", "a/b", "a b", "$set", "__proto__", "\u00a0", "😀", "x".repeat(128), "語".repeat(42)])(
    "accepts %j",
    (id) => {
      expect(() => checkId("id", id, DEFAULT_LIMITS)).not.toThrow();
    },
  );

  it("refuses anything but a string", () => {
    expect(() => checkId("id", 7 as unknown as string, DEFAULT_LIMITS)).toThrow(refusal("id must be a string"));
  });
});

describe("checkOptionalId", () => {
  it("accepts an absent and an empty id, and refuses what checkId refuses", () => {
    expect(() => checkOptionalId("id", undefined, DEFAULT_LIMITS)).not.toThrow();
    expect(() => checkOptionalId("id", "", DEFAULT_LIMITS)).not.toThrow();
    expect(() => checkOptionalId("id", "..", DEFAULT_LIMITS)).toThrow(refusal('id must not be "." or ".."'));
  });
});

describe("checkText", () => {
  it("accepts whatever UTF-8 can hold", () => {
    for (const text of ["", "\u0000", "\ufeff", "\ufffd", "\ud83d\ude00"]) {
      expect(() => checkText("text", text)).not.toThrow();
    }
  });

  it.each(["\ud83d", "\ude00", "\ude00\ud83d", "a\udfffb"])("refuses %j", (text) => {
    expect(() => checkText("text", text)).toThrow(
      refusal("text is not well-formed Unicode: it holds a lone surrogate"),
    );
  });
});

describe("checkStruct", () => {
  it("accepts JSON and an absent value", () => {
    const value = JSON.parse('{"__proto__": [1, null, true, "x", {"": {}}], "a.b": -0.5, "$set": []}');
    expect(() => checkStruct("data", value, DEFAULT_LIMITS)).not.toThrow();
    expect(() => checkStruct("data", undefined, DEFAULT_LIMITS)).not.toThrow();
    expect(() => checkStruct("data", Object.create(null), DEFAULT_LIMITS)).not.toThrow();
  });

  it.each([
    ["objects", (depth: number) => JSON.parse(`${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`)],
    ["lists", (depth: number) => JSON.parse(`{"a":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`)],
  ])("accepts 24 levels of %s and refuses 25", (_what, nest) => {
    expect(() => checkStruct("data", nest(24), DEFAULT_LIMITS)).not.toThrow();
    expect(() => checkStruct("data", nest(25), DEFAULT_LIMITS)).toThrow(
      refusal("data is nested deeper than 24 levels"),
    );
  });

  it("ends on an object that contains itself", () => {
    const circle: Record<string, unknown> = {};
    circle.self = [circle];
    expect(() => checkStruct("data", circle, DEFAULT_LIMITS)).toThrow(refusal("data is nested deeper than 24 levels"));
  });

  it.each([
    [{ a: Number.NaN }, "data holds NaN; numbers must be finite"],
    [{ a: [Number.POSITIVE_INFINITY] }, "data holds Infinity; numbers must be finite"],
    [{ a: { b: Number.NEGATIVE_INFINITY } }, "data holds -Infinity; numbers must be finite"],
    [{ a: undefined }, "data holds a value that JSON cannot hold"],
    [{ a: 1n }, "data holds a value that JSON cannot hold"],
    [{ a: new Date(0) }, "data holds a value that JSON cannot hold"],
    [{ a: () => 1 }, "data holds a value that JSON cannot hold"],
    [{ a: "\ud800" }, "data is not well-formed Unicode: it holds a lone surrogate"],
    [{ "\ud800": 1 }, "A key of data is not well-formed Unicode: it holds a lone surrogate"],
    [[], "data must be an object"],
    ["x", "data must be an object"],
    [null, "data must be an object"],
    [new Map(), "data must be an object"],
  ])("refuses %o", (value, message) => {
    expect(() => checkStruct("data", value, DEFAULT_LIMITS)).toThrow(refusal(message));
  });
});

describe("session checks", () => {
  it("accept what is within the limits", () => {
    const session = { sessionId: "s", parentId: "p", title: "é".repeat(512), metadata: { a: "x".repeat(65_000) } };
    expect(() => checkNewSession(session, DEFAULT_LIMITS)).not.toThrow();
    expect(() => checkSessionChange(session, DEFAULT_LIMITS)).not.toThrow();
    expect(() => checkNewSession({}, DEFAULT_LIMITS)).not.toThrow();
  });

  it("refuse ids, titles and metadata over their limits, and malformed ones", () => {
    const check = (session: object) => () => checkNewSession(session, DEFAULT_LIMITS);
    expect(check({ sessionId: ".." })).toThrow(refusal('session_id must not be "." or ".."'));
    expect(check({ parentId: "\n" })).toThrow(refusal("parent_id must not contain control characters"));
    expect(check({ title: "é".repeat(513) })).toThrow(refusal("title is 1026 bytes; at most 1024 are allowed"));
    expect(check({ title: "\ud800" })).toThrow(refusal("title is not well-formed Unicode: it holds a lone surrogate"));
    expect(check({ metadata: { a: Number.NaN } })).toThrow(refusal("metadata holds NaN; numbers must be finite"));
  });

  it("count the exact size of metadata in protobuf", () => {
    // Beside the text, each of these has a tag and a length: the entry, the key "a", the Value and the string.
    const fits = 65_536 - 3 - 1 - 3 - 4 - 4;
    const change = (length: number) => () =>
      checkSessionChange({ metadata: { a: "x".repeat(length) } }, DEFAULT_LIMITS);
    expect(change(fits)).not.toThrow();
    expect(change(fits + 1)).toThrow(refusal("metadata is 65537 bytes; at most 65536 are allowed"));
  });

  it("refuse an expected position or revision that is negative or a fraction", () => {
    expect(() => checkExpected("expected_position", undefined)).not.toThrow();
    expect(() => checkExpected("expected_position", 0)).not.toThrow();
    expect(() => checkExpected("expected_position", -1)).toThrow(
      refusal("expected_position is -1; it must be a whole number of at least 0"),
    );
    expect(() => checkExpected("expected_revision", 0.5)).toThrow(
      refusal("expected_revision is 0.5; it must be a whole number of at least 0"),
    );
  });
});

describe("page checks", () => {
  it("uses 100 when no limit is given, and at most 1000", () => {
    expect(pageLimit(undefined, DEFAULT_LIMITS)).toBe(100);
    expect(pageLimit(1, DEFAULT_LIMITS)).toBe(1);
    expect(pageLimit(1000, DEFAULT_LIMITS)).toBe(1000);
    expect(pageLimit(1001, DEFAULT_LIMITS)).toBe(1000);
    expect(pageLimit(2 ** 31 - 1, DEFAULT_LIMITS)).toBe(1000);
    expect(pageLimit(undefined, { ...DEFAULT_LIMITS, pageMessages: 10 })).toBe(10);
  });

  it.each([0, -1, -(2 ** 31), 1.5, Number.NaN])("refuses a limit of %d", (limit) => {
    expect(() => pageLimit(limit, DEFAULT_LIMITS)).toThrow(
      refusal(`limit is ${limit}; it must be a whole number of at least 1`),
    );
  });

  it("refuses a negative offset", () => {
    expect(() => checkOffset(undefined)).not.toThrow();
    expect(() => checkOffset(0)).not.toThrow();
    expect(() => checkOffset(-1)).toThrow(refusal("offset is -1; it must be a whole number of at least 0"));
  });

  it("refuses since after until, and accepts them equal", () => {
    expect(() => checkMessageQuery({ sinceMicros: 2, untilMicros: 1 })).toThrow(refusal("since is after until"));
    expect(() => checkMessageQuery({ sinceMicros: 1, untilMicros: 1 })).not.toThrow();
    expect(() => checkMessageQuery({ sinceMicros: 1 })).not.toThrow();
    expect(() => checkMessageQuery({ untilMicros: 1 })).not.toThrow();
  });
});

function refusal(message: string): DomainError {
  return new DomainError("invalid_argument", message);
}
