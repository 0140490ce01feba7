import "../../../src/harden.js";
import { create, type DescMessage, fromJson, type JsonValue, type Message, toJson } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { HttpRuleSchema } from "../../../gen/google/api/http_pb.js";
import {
  AppendMessageRequestSchema,
  ListMessagesRequestSchema,
  ListMessagesResponseSchema,
  MessageWithPartsSchema,
  WatchMessagesResponseSchema,
} from "../../../gen/sessionpool/v1/message_service_pb.js";
import { SessionSchema, UpdateSessionRequestSchema } from "../../../gen/sessionpool/v1/session_service_pb.js";
import { messageReader } from "../../../src/codec/json-reader.js";
import { jsonMessageWriter } from "../../../src/codec/json-writer.js";
import { textOf } from "../../../src/domain/byte-string.js";

const text = fc.string({ unit: "grapheme" });
const key = fc.oneof(text, fc.constantFrom("__proto__", "constructor", "toJSON", "", "a.b", "$set", "\u0000", "1"));
const jsonValue = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    text,
    fc.boolean(),
    fc.constant(null),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.array(tie("value"), { maxLength: 4 }),
    tie("object"),
  ),
  object: fc.array(fc.tuple(key, tie("value")), { maxLength: 4 }).map(toObject),
})).object as fc.Arbitrary<Record<string, JsonValue>>;

function toObject(entries: readonly (readonly [string, unknown])[]): unknown {
  return JSON.parse(
    `{${[...new Map(entries)].map(([k, v]) => `${JSON.stringify(k)}:${JSON.stringify(v)}`).join(",")}}`,
  );
}

const time = fc
  .tuple(
    fc.date({ min: new Date("0001-01-01T00:00:00Z"), max: new Date("9999-12-31T23:59:59Z"), noInvalidDate: true }),
    fc.constantFrom("", ".5", ".123", ".000001", ".123456", ".000000001", ".120000000"),
    fc.constantFrom("Z", "+00:00"),
  )
  .map(([date, fraction, zone]) => date.toISOString().slice(0, 19) + fraction + zone);

const int64 = fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String), fc.maxSafeInteger());

/** An object with some of the members. */
function some(members: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<Record<string, unknown>> {
  return fc.record(members, { requiredKeys: [] });
}

const message = some({
  info: some({
    id: text,
    role: text,
    timestamp: time,
    metadata: jsonValue,
    session_id: text,
    position: int64,
    originSessionId: text,
  }),
  parts: fc.array(some({ id: text, type: text, text, data: jsonValue }), { maxLength: 3 }),
});

const CASES: readonly [DescMessage, fc.Arbitrary<unknown>][] = [
  [MessageWithPartsSchema, message],
  [AppendMessageRequestSchema, some({ sessionId: text, message, expected_position: int64 })],
  [ListMessagesResponseSchema, some({ messages: fc.array(message, { maxLength: 3 }), nextPageToken: text })],
  [
    ListMessagesRequestSchema,
    some({
      limit: fc.oneof(fc.integer(), fc.integer().map(String), fc.constantFrom("1e2", 1e2, "5.0")),
      offset: fc.integer(),
      newest_first: fc.boolean(),
      since: time,
    }),
  ],
  [
    SessionSchema,
    some({ sessionId: text, metadata: jsonValue, create_time: time, messageCount: int64, reverted: fc.boolean() }),
  ],
  [
    UpdateSessionRequestSchema,
    some({ title: text, updateMask: fc.constantFrom("", "title", "title,metadata", "updateTime") }),
  ],
  [
    WatchMessagesResponseSchema,
    fc.oneof(
      some({ resumeToken: text, appended: message }),
      some({ truncated: some({ messageCount: int64 }) }),
      some({ heartbeat: fc.constant({}) }),
    ),
  ],
];

describe.each(CASES.map(([desc, json]) => ({ name: desc.name, desc, json })))("$name", ({ desc, json }) => {
  test("is read and written as protobuf-es does", () => {
    fc.assert(
      fc.property(json, (value) => {
        const expected = fromJson(desc, value as JsonValue);
        expect(messageReader(desc)(JSON.parse(JSON.stringify(value)))).toEqual(expected);
        expect(textOf(jsonMessageWriter(desc)(expected))).toBe(
          JSON.stringify(toJson(desc, expected, { alwaysEmitImplicit: true })),
        );
      }),
      { numRuns: 300 },
    );
  });
});

describe("messageReader", () => {
  const JUNK = [
    null,
    true,
    0,
    1.5,
    -1,
    2 ** 31,
    2 ** 53,
    "",
    "a",
    " 1",
    "1e400",
    "2024-13-01T00:00:00Z",
    "2024-01-01",
    [],
    [null],
    [1],
    {},
    { a: 1 },
  ];

  test("accepts no value that protobuf-es refuses, and reads all others as it does", () => {
    const descs = [
      MessageWithPartsSchema,
      AppendMessageRequestSchema,
      ListMessagesRequestSchema,
      UpdateSessionRequestSchema,
      SessionSchema,
    ];
    let refused = 0;
    for (const desc of descs) {
      for (const junk of [
        ...JUNK,
        ...desc.fields.flatMap((field) => JUNK.map((value) => ({ [field.jsonName]: value }))),
      ]) {
        const ours = outcome(() => messageReader(desc)(structuredClone(junk)));
        const theirs = outcome(() => fromJson(desc, junk as JsonValue));
        if (ours === undefined) refused++;
        if (ours === undefined && isStricter(junk)) continue;
        expect(ours, `${desc.name} ${JSON.stringify(junk)}`).toEqual(theirs);
      }
    }
    expect(refused).toBeGreaterThan(100);
  });

  test.each([
    [{ message: { info: { role: 1 } } }, "message.info.role: expected a string, got 1"],
    [{ message: { parts: [{}, { type: [] }] } }, "message.parts[1].type: expected a string, got []"],
    [{ message: { parts: [null] } }, "message.parts[0]: expected an object, got null"],
    [{ message: { parts: {} } }, "message.parts: expected a list, got {}"],
    [{ message: { info: { metadata: [] } } }, "message.info.metadata: expected an object, got []"],
    [
      { message: { info: { timestamp: "yesterday" } } },
      "message.info.timestamp: expected a time like 2026-01-31T12:00:00.5Z",
    ],
    [{ message: { info: { timestamp: "2026-02-29T00:00:00Z" } } }, "timestamp: expected a time like"],
    [{ message: { info: { timestamp: "2026-04-31T00:00:00+01:00" } } }, "timestamp: expected a time like"],
    [{ message: { info: { timestamp: "2026-01-31T24:00:00Z" } } }, "timestamp: expected a time like"],
    [
      { expectedPosition: 2 ** 63 },
      "expected a 64-bit integer (as a string when it is beyond 2^53), got 9223372036854775808",
    ],
    [{ expectedPosition: JSON.parse("1e999") }, "2^53), got a number that is too large"],
    [{ expected_position: "0x10" }, "expected_position: expected a 64-bit integer"],
    [{ expectedPosition: "9223372036854775808" }, "expected_position: expected a 64-bit integer"],
    [{ message: { colour: 1 } }, 'message: unknown field "colour"'],
    [{ session_id: "a", sessionId: "a" }, ": session_id is set twice"],
    [{ __proto__: null, toString: 1 }, ': unknown field "toString"'],
  ])("names the field: %j", (json, problem) => {
    expect(() => messageReader(AppendMessageRequestSchema)(json)).toThrow(problem);
  });

  test.each([["expire_time"], ["Title"], ["title,Labels"], [["title"]], [{ paths: ["title"] }]])(
    "refuses a mask that does not name fields as JSON does: %j",
    (updateMask) => {
      expect(() => messageReader(UpdateSessionRequestSchema)({ updateMask })).toThrow(
        `update_mask: expected names in lowerCamelCase with commas between them, such as "title,expireTime", got ${JSON.stringify(updateMask)}`,
      );
    },
  );

  test("refuses a long path before it makes names of it", () => {
    const read = (updateMask: string) => messageReader(UpdateSessionRequestSchema)({ updateMask });
    expect(() => read("aBCDE".repeat(2001))).toThrow("update_mask: longer than 10000 characters");
    expect(() => read("aBCDE".repeat(2000))).not.toThrow();
  });

  test("refuses a mask of more than 100 paths before it makes any of them", () => {
    const read = messageReader(UpdateSessionRequestSchema);
    const maskOf = (count: number) => ({ updateMask: Array(count).fill("title").join(",") });
    expect(read(maskOf(100))).toMatchObject({ updateMask: { paths: Array(100).fill("title") } });
    expect(() => read(maskOf(101))).toThrow("update_mask names more than 100 paths");
    expect(() => read({ updateMask: ",".repeat(100) })).toThrow("update_mask names more than 100 paths");
  });

  test("refuses a number that JSON.parse turned into Infinity, however deep in a Struct it is", () => {
    const json = JSON.parse('{"info":{"metadata":{"a":[1,{"b":1e999}]}}}');
    expect(() => messageReader(MessageWithPartsSchema)(json)).toThrow("info.metadata: the number at b is too large");
  });

  test("gives each message lists of its own", () => {
    const read = messageReader(MessageWithPartsSchema);
    expect((read({}) as Message & { parts: unknown[] }).parts).not.toBe(
      (read({}) as Message & { parts: unknown[] }).parts,
    );
  });

  test("leaves types that it does not support to protobuf-es", () => {
    const json = { get: "/a", additionalBindings: [{ custom: { kind: "X", path: "/b" } }] };
    const expected = fromJson(HttpRuleSchema, json);
    expect(messageReader(HttpRuleSchema)(json)).toEqual(expected);
    expect(() => messageReader(HttpRuleSchema)({ get: 1 })).toThrow("get: expected a string, got 1");
    expect(JSON.parse(textOf(jsonMessageWriter(HttpRuleSchema)(expected)))).toEqual(
      toJson(HttpRuleSchema, expected, { alwaysEmitImplicit: true }),
    );
  });
});

describe("jsonMessageWriter", () => {
  test("encodes a frozen message only once, and any other each time", () => {
    const write = jsonMessageWriter(SessionSchema);
    let reads = 0;
    const message = Object.defineProperty(create(SessionSchema), "title", {
      enumerable: true,
      get: () => `read ${++reads}`,
    });
    expect([write(message), write(message)].map((text) => JSON.parse(textOf(text)).title)).toEqual([
      "read 1",
      "read 2",
    ]);
    Object.freeze(message);
    expect([write(message), write(message)].map((text) => JSON.parse(textOf(text)).title)).toEqual([
      "read 3",
      "read 3",
    ]);
  });

  test("refuses what has no JSON form", () => {
    const write = jsonMessageWriter(MessageWithPartsSchema);
    expect(() => write(create(MessageWithPartsSchema, { info: { metadata: { a: [Number.NaN] } } }))).toThrow(
      "no JSON form",
    );
    expect(() => write(create(MessageWithPartsSchema, { info: { timestamp: { seconds: 1n << 40n } } }))).toThrow(
      "no JSON form",
    );
    expect(() => write(create(MessageWithPartsSchema, { info: { timestamp: { nanos: -1 } } }))).toThrow("no JSON form");
  });
});

/** Whether our reader refuses an int64 on purpose: a number that JSON.parse has rounded, or text without a number. */
function isStricter(junk: unknown): boolean {
  return Object.values(junk ?? {}).some((value) => [2 ** 53, " 1", ""].includes(value));
}

function outcome(run: () => Message): Message | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}
