import { create, isMessage, type JsonObject } from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import {
  type MessageWithParts,
  MessageWithPartsSchema,
  WatchMessagesResponseSchema,
} from "../../../gen/sessionpool/v1/message_service_pb.js";
import { SessionSchema } from "../../../gen/sessionpool/v1/session_service_pb.js";
import { TodoSchema } from "../../../gen/sessionpool/v1/todo_service_pb.js";
import { fromMessageWithParts, fromTodo, toMessageWithParts, toSession, toTodo } from "../../../src/api/convert.js";
import { decodeResumeToken } from "../../../src/api/page-token.js";
import {
  checkBoundsOrder,
  fromBoundTimestamp,
  fromMessageTimestamp,
  toTimestamp,
} from "../../../src/api/timestamps.js";
import { toWatchResponse } from "../../../src/api/watch-convert.js";
import type { ChatMessage } from "../../../src/domain/chat-message.js";
import type { Session } from "../../../src/domain/session.js";
import { NO_USAGE, type Usage, type UsageSums } from "../../../src/domain/usage.js";

const ATTACHMENT = { attachmentId: "a", mediaType: "image/png", name: "n", size: 3, sha256: "0a" };

const USAGE: Usage = {
  ...{ model: "m", provider: "p", inputTokens: 1, outputTokens: 0, cachedInputTokens: 3, reasoningTokens: 4 },
  ...{ cost: "0.10", currency: "USD", startTimeMicros: 5, firstTokenTimeMicros: 6, durationMicros: 1_000_007 },
};

const PROTO_USAGE = {
  ...{ model: "m", provider: "p", inputTokens: 1n, outputTokens: 0n, cachedInputTokens: 3n, reasoningTokens: 4n },
  ...{ cost: "0.10", currency: "USD", startTime: { seconds: 0n, nanos: 5000 } },
  ...{ firstTokenTime: { seconds: 0n, nanos: 6000 }, duration: { seconds: 1n, nanos: 7000 } },
};

const MESSAGE: ChatMessage = {
  id: "m",
  sessionId: "s",
  role: "user",
  timestampMicros: 1_700_000_000_123_456,
  parts: [{ id: "p", type: "tool", text: "x", data: { a: [1] }, attachment: ATTACHMENT }],
  metadata: { b: null },
  position: 0,
  originSessionId: "o",
  usage: USAGE,
};

const SESSION: Session = {
  sessionId: "s",
  parentId: "p",
  forkPointId: "f",
  title: "t",
  metadata: { a: 1 },
  createTimeMicros: 1,
  updateTimeMicros: 2,
  messageCount: 0,
  inheritedCount: 4,
  revision: 5,
  reverted: true,
};

describe("messages", () => {
  it("are converted to proto with all their fields", () => {
    const expected = create(MessageWithPartsSchema, {
      info: {
        id: "m",
        role: "user",
        timestamp: { seconds: 1_700_000_000n, nanos: 123_456_000 },
        metadata: { b: null },
        sessionId: "s",
        position: 0n,
        originSessionId: "o",
        usage: PROTO_USAGE,
      },
      parts: [{ id: "p", type: "tool", text: "x", data: { a: [1] }, attachment: { ...ATTACHMENT, size: 3n } }],
    });
    expect(toMessageWithParts(MESSAGE)).toStrictEqual(expected);
    expect(isMessage(toMessageWithParts(MESSAGE), MessageWithPartsSchema)).toBe(true);
  });

  it("are converted to proto without absent fields", () => {
    const { id, sessionId, role, timestampMicros } = MESSAGE;
    const { info, parts } = toMessageWithParts({ id, sessionId, role, timestampMicros, parts: [] });
    expect([info?.metadata, info?.position, info?.usage]).toStrictEqual([undefined, undefined, undefined]);
    expect([info?.originSessionId, parts]).toStrictEqual(["", []]);
  });

  it("are read from a request without the fields that only answers have", () => {
    const given = fromMessageWithParts("message", toMessageWithParts(MESSAGE));
    const { id, role, timestampMicros, parts, metadata, usage } = MESSAGE;
    expect(given).toStrictEqual({ id, role, timestampMicros, parts, metadata, usage });
  });

  it.each([9_223_372_036_854_775_807n, -9_223_372_036_854_775_808n])(
    "names %d tokens of a usage as they were sent",
    (reasoningTokens) => {
      const given = create(MessageWithPartsSchema, { info: { role: "user", usage: { reasoningTokens } } });
      expect(() => fromMessageWithParts("message", given)).toThrow(
        `message.info.usage.reasoning_tokens is ${reasoningTokens}; a whole number from 0 to 1000000000 is allowed`,
      );
    },
  );

  it("may come without id, timestamp, usage and Structs", () => {
    const given = create(MessageWithPartsSchema, { info: { role: "user" }, parts: [{ type: "text" }] });
    expect(fromMessageWithParts("message", given)).toStrictEqual({
      ...{ id: undefined, role: "user", timestampMicros: undefined, metadata: undefined, usage: undefined },
      parts: [{ id: "", type: "text", text: "", data: undefined }],
    });
  });

  it("keep an empty Struct and odd keys", () => {
    const odd = JSON.parse('{"__proto__":{},"":1}') as JsonObject;
    const message = create(MessageWithPartsSchema, { info: { role: "r" } });
    (message.info as NonNullable<MessageWithParts["info"]>).metadata = odd;
    expect(JSON.stringify(fromMessageWithParts("message", message).metadata)).toBe('{"__proto__":{},"":1}');
    expect(toMessageWithParts({ ...MESSAGE, metadata: {} }).info?.metadata).toStrictEqual({});
  });

  it("are required, with their info", () => {
    expect(() => fromMessageWithParts("message", undefined)).toThrow(refusal("message is required"));
    expect(() => fromMessageWithParts("messages[2]", create(MessageWithPartsSchema))).toThrow(
      refusal("messages[2].info is required"),
    );
  });
});

describe("sessions", () => {
  it("are converted to proto with all their fields", () => {
    const expected = create(SessionSchema, {
      ...{ sessionId: "s", parentId: "p", forkPointId: "f", title: "t", metadata: { a: 1 } },
      ...{ createTime: { seconds: 0n, nanos: 1000 }, updateTime: { seconds: 0n, nanos: 2000 } },
      ...{ messageCount: 0n, inheritedCount: 4n, revision: 5n, reverted: true, owner: "o", labels: { a: "b" } },
      ...{ expireTime: { seconds: 0n, nanos: 3000 }, deleteTime: { seconds: 0n, nanos: 5000 } },
      purgeTime: { seconds: 0n, nanos: 6000 },
      lastMessage: {
        ...{ messageId: "m", role: "user", timestamp: { seconds: 0n, nanos: 4000 } },
        ...{ text: "t", usage: PROTO_USAGE, error: "e" },
      },
      usage: {
        ...{ calls: 1n, inputTokens: 2n, outputTokens: 3n, cachedInputTokens: 4n, reasoningTokens: 5n },
        ...{
          costs: [
            { currency: "EUR", amount: "2" },
            { currency: "USD", amount: "0.5" },
          ],
        },
        duration: { seconds: 1n, nanos: 6000 },
      },
      inheritedUsage: { duration: { seconds: 0n, nanos: 0 } },
    });
    const usage: UsageSums = {
      ...{ calls: 1, inputTokens: 2, outputTokens: 3, cachedInputTokens: 4, reasoningTokens: 5 },
      ...{
        durationMicros: 1_000_006,
        costs: new Map([
          ["USD", 5n * 10n ** 17n],
          ["EUR", 2n * 10n ** 18n],
        ]),
      },
    };
    const session: Session = {
      ...{ ...SESSION, labels: { a: "b" }, owner: "o", usage, inheritedUsage: NO_USAGE },
      ...{ expireTimeMicros: 3, deleteTimeMicros: 5, purgeTimeMicros: 6 },
      lastMessage: { messageId: "m", role: "user", timestampMicros: 4, text: "t", usage: USAGE, error: "e" },
    };
    expect(toSession(session)).toStrictEqual(expected);
  });

  it("are converted to proto without absent fields", () => {
    const session = toSession({ ...SESSION, metadata: undefined, messageCount: undefined });
    expect([session.metadata, session.messageCount]).toStrictEqual([undefined, undefined]);
    expect([session.labels, session.expireTime, session.lastMessage]).toStrictEqual([{}, undefined, undefined]);
    expect([session.usage, session.inheritedUsage]).toStrictEqual([undefined, undefined]);
    expect([session.deleteTime, session.purgeTime]).toStrictEqual([undefined, undefined]);
  });
});

describe("events", () => {
  const at = { sessionUid: "uid", revision: 1, position: 2 };

  it.each([
    [{ kind: "appended", message: MESSAGE, at } as const, { case: "appended", value: toMessageWithParts(MESSAGE) }],
    [{ kind: "updated", message: MESSAGE, at } as const, { case: "updated", value: toMessageWithParts(MESSAGE) }],
    [
      { kind: "deleted", messageId: "m1", position: 0, at } as const,
      { case: "deleted", value: { messageId: "m1", position: 0n } },
    ],
    [{ kind: "truncated", messageCount: 0, at } as const, { case: "truncated", value: { messageCount: 0n } }],
    [{ kind: "heartbeat", at } as const, { case: "heartbeat", value: {} }],
  ])("carry a token that resumes after them: %o", (event, told) => {
    const response = toWatchResponse(event);
    expect(response).toStrictEqual(
      create(WatchMessagesResponseSchema, { event: told as never, resumeToken: response.resumeToken }),
    );
    expect(decodeResumeToken(response.resumeToken)).toStrictEqual(at);
  });
});

describe("todos", () => {
  const todo = { id: "1", content: "c", status: "s", priority: "p" };

  it("are converted field by field", () => {
    expect(toTodo(todo)).toStrictEqual(create(TodoSchema, todo));
    expect(fromTodo("todo", toTodo(todo))).toStrictEqual(todo);
    expect(() => fromTodo("todo", undefined)).toThrow(refusal("todo is required"));
  });
});

describe("timestamps", () => {
  it.each([0, 1, -1, 999_999, 1_000_000, -1_000_000, -1_000_001, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER])(
    "keep %d microseconds",
    (micros) => {
      const timestamp = toTimestamp(micros);
      expect(timestamp.nanos).toBeGreaterThanOrEqual(0);
      expect(fromMessageTimestamp("t", timestamp)).toBe(micros);
      expect(fromBoundTimestamp("t", timestamp)).toBe(micros);
    },
  );

  it("of messages are rounded down to the microsecond", () => {
    expect(fromMessageTimestamp("t", stamp(1n, 1999))).toBe(1_000_001);
    expect(fromMessageTimestamp("t", stamp(-1n, 999_999_999))).toBe(-1);
  });

  it("that bound a list are rounded up to the microsecond, so that what is before a bound stays before it", () => {
    expect(fromBoundTimestamp("t", stamp(0n, 0))).toBe(0);
    expect(fromBoundTimestamp("t", stamp(0n, 1))).toBe(1);
    expect(fromBoundTimestamp("t", stamp(0n, 999))).toBe(1);
    expect(fromBoundTimestamp("t", stamp(-1n, 999_999_999))).toBe(0);
  });

  it("may be absent", () => {
    expect(fromMessageTimestamp("t", undefined)).toBeUndefined();
    expect(fromBoundTimestamp("t", undefined)).toBeUndefined();
  });

  it.each([
    [-62_135_596_801n, 0],
    [253_402_300_800n, 0],
    [0n, -1],
    [0n, 1_000_000_000],
  ])("are refused when they are not valid: %d s %d ns", (seconds, nanos) => {
    expect(() => fromMessageTimestamp("t", stamp(seconds, nanos))).toThrow(refusal("t is not a valid Timestamp"));
    expect(() => fromBoundTimestamp("t", stamp(seconds, nanos))).toThrow(refusal("t is not a valid Timestamp"));
  });

  it.each([
    [-62_135_596_800n, Number.MIN_SAFE_INTEGER],
    [253_402_300_799n, Number.MAX_SAFE_INTEGER],
    [9_007_199_254n, 9_007_199_254_000_000],
  ])("may bound a list at any time, but for messages only where microseconds are exact: %d s", (seconds, micros) => {
    expect(fromBoundTimestamp("since", stamp(seconds, 0))).toBe(micros);
    if (Math.abs(micros) !== Number.MAX_SAFE_INTEGER) return;
    expect(() => fromMessageTimestamp("t", stamp(seconds, 0))).toThrow(
      refusal("t is out of range: messages are kept from July 1684 to June 2255"),
    );
  });
});

describe("the bounds of a list", () => {
  it.each([
    ["seconds", stamp(1n, 0), stamp(0n, 999_999_999)],
    ["less than a microsecond", stamp(0n, 2), stamp(0n, 1)],
    ["years after the last message there can be", stamp(253_402_300_799n, 0), stamp(253_402_300_798n, 0)],
  ])("are refused when since is after until by %s", (_what, since, until) => {
    expect(() => checkBoundsOrder(since, until)).toThrow(refusal("since is after until"));
    expect(() => checkBoundsOrder(until, since)).not.toThrow();
    expect(() => checkBoundsOrder(since, since)).not.toThrow();
  });

  it("may be absent", () => {
    expect(() => checkBoundsOrder(stamp(1n, 0), undefined)).not.toThrow();
    expect(() => checkBoundsOrder(undefined, stamp(1n, 0))).not.toThrow();
  });
});

function stamp(seconds: bigint, nanos: number) {
  return create(TimestampSchema, { seconds, nanos });
}

function refusal(message: string) {
  return expect.objectContaining({ code: "invalid_argument", message });
}
