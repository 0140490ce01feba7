import { describe, expect, it } from "vitest";
import type { MessageChange, NewChatMessage } from "../../../src/domain/chat-message.js";
import type { DraftDelta } from "../../../src/domain/draft.js";
import { DomainError } from "../../../src/domain/errors.js";
import { DEFAULT_LIMITS } from "../../../src/domain/limits.js";
import { embeddedSize, messageSize } from "../../../src/domain/message-size.js";
import { checkDeltas, checkMessageChange, checkNewMessages } from "../../../src/domain/validate-message.js";

const PART = { id: "", type: "text", text: "" };
const MESSAGE: NewChatMessage = { role: "user", parts: [] };

function checking(...messages: object[]): () => void {
  return () => checkNewMessages(messages as NewChatMessage[], DEFAULT_LIMITS);
}

function withText(length: number): NewChatMessage {
  return { role: "user", parts: [{ id: "", type: "text", text: "x".repeat(length) }] };
}

describe("checkNewMessages", () => {
  it("limits metadata to 64 KiB", () => {
    const withMetadata = (length: number) => [{ role: "user", parts: [], metadata: { a: "x".repeat(length) } }];
    expect(() => checkNewMessages(withMetadata(64 * 1024 - 15), DEFAULT_LIMITS)).not.toThrow();
    const text = "message.info.metadata is 65537 bytes; at most 65536 are allowed";
    expect(() => checkNewMessages(withMetadata(64 * 1024 - 14), DEFAULT_LIMITS)).toThrow(text);
  });

  it("accepts messages without id, timestamp, parts and metadata", () => {
    expect(checking(MESSAGE)).not.toThrow();
    expect(checking(MESSAGE, MESSAGE, { ...MESSAGE, id: "" })).not.toThrow();
  });

  it.each([
    [{ id: "x".repeat(130) }, "message.info.id is 130 bytes; at most 128 are allowed"],
    [{ role: "" }, "message.info.role is required"],
    [{ role: undefined }, "message.info.role must be a string"],
    [{ role: "\ud800" }, "message.info.role is not well-formed Unicode: it holds a lone surrogate"],
    [{ metadata: { a: Number.NaN } }, "message.info.metadata holds NaN; numbers must be finite"],
    [
      { timestampMicros: 0.5 },
      "message.info.timestamp is out of range: a whole number of microseconds up to 2^53 is allowed",
    ],
    [
      { timestampMicros: 2 ** 53 },
      "message.info.timestamp is out of range: a whole number of microseconds up to 2^53 is allowed",
    ],
    [{ parts: undefined }, "message.parts must be a list"],
    [{ parts: null }, "message.parts must be a list"],
    [{ parts: new Set() }, "message.parts must be a list"],
    [{ parts: [null] }, "message.parts[0] must be an object"],
    [{ parts: [{ id: "", type: "", text: "" }] }, "message.parts[0].type is required"],
    [
      { parts: [{ id: "\ud800", type: "t", text: "" }] },
      "message.parts[0].id is not well-formed Unicode: it holds a lone surrogate",
    ],
    [
      { parts: [{ id: "", type: "t", text: "\ud800" }] },
      "message.parts[0].text is not well-formed Unicode: it holds a lone surrogate",
    ],
    [
      { parts: [{ id: "", type: "t", text: "", data: { a: Infinity } }] },
      "message.parts[0].data holds Infinity; numbers must be finite",
    ],
  ])("refuses %o", (fields, text) => {
    expect(checking({ ...MESSAGE, ...fields })).toThrow(refusal(text));
  });

  it.each([
    [undefined, "messages must be a list"],
    [{ role: "user" }, "messages must be a list"],
    [[null], "message must be an object"],
    [[MESSAGE, "hello"], "messages[1] must be an object"],
  ])("refuses %o instead of messages", (messages, text) => {
    expect(() => checkNewMessages(messages as NewChatMessage[], DEFAULT_LIMITS)).toThrow(refusal(text));
  });

  it("names the message of a batch", () => {
    expect(checking(MESSAGE, { ...MESSAGE, role: "" })).toThrow(refusal("messages[1].info.role is required"));
  });

  it("accepts any id of a part", () => {
    expect(checking({ ...MESSAGE, parts: [{ id: "..\n", type: "t", text: "\u0000" }] })).not.toThrow();
  });

  it("refuses an empty list and more than 1000 messages", () => {
    expect(checking()).toThrow(refusal("messages is empty; at least 1 message is required"));
    expect(checking(...Array(1000).fill(MESSAGE))).not.toThrow();
    expect(checking(...Array(1001).fill(MESSAGE))).toThrow(
      refusal("messages holds 1001 messages; at most 1000 are allowed"),
    );
  });

  it("refuses a repeated id, and accepts several messages without an id", () => {
    const [a, b] = [
      { ...MESSAGE, id: "a" },
      { ...MESSAGE, id: "b" },
    ];
    expect(checking(a, b, MESSAGE, MESSAGE)).not.toThrow();
    expect(checking(a, b, a)).toThrow(refusal('messages holds the id "a" twice'));
  });

  it("accepts a message of 3 MiB as protobuf, and refuses one byte more", () => {
    const limit = DEFAULT_LIMITS.messageBytes;
    const fits = limit - (messageSize(withText(limit)) - limit);
    expect(messageSize(withText(fits))).toBe(limit);
    expect(checking(withText(fits))).not.toThrow();
    expect(checking(withText(fits + 1))).toThrow(
      refusal(`message is ${limit + 1} bytes; at most ${limit} are allowed`),
    );
  });

  it("accepts 10,000 parts of a message, and refuses one more", () => {
    const withParts = (length: number) => ({ role: "user", parts: Array(length).fill(PART) });
    const text = "parts holds 10001 parts; at most 10000 are allowed";
    expect(checking(withParts(10_000), withParts(10_000))).not.toThrow();
    expect(checking(withParts(10_001))).toThrow(refusal(`message.${text}`));
    expect(checking(MESSAGE, withParts(10_001))).toThrow(refusal(`messages[1].${text}`));
    const change = (length: number) => () => checkMessageChange({ parts: Array(length).fill(PART) }, DEFAULT_LIMITS);
    expect(change(10_000)).not.toThrow();
    expect(change(10_001)).toThrow(refusal(`message.${text}`));
  });

  it("accepts a batch of 8 MiB as protobuf, and refuses one byte more", () => {
    const limit = DEFAULT_LIMITS.batchBytes;
    const most = withText(2 ** 21);
    const rest = limit - 3 * embeddedSize(messageSize(most));
    const fits = rest - (embeddedSize(messageSize(withText(rest))) - rest);
    expect(checking(most, most, most, withText(fits))).not.toThrow();
    expect(checking(most, most, most, withText(fits + 1))).toThrow(
      refusal(`messages is ${limit + 1} bytes; at most ${limit} are allowed`),
    );
  });
});

describe("checkMessageChange", () => {
  it.each([
    [undefined, "message must be an object"],
    [{ parts: null }, "message.parts must be a list"],
  ])("refuses %o", (change, text) => {
    expect(() => checkMessageChange(change as unknown as MessageChange, DEFAULT_LIMITS)).toThrow(refusal(text));
  });
});

describe("checkDeltas", () => {
  it.each([
    [undefined, "deltas must be a list"],
    [[null], "deltas[0] must be an object"],
    [[{ kind: "put_part" }], "deltas[0].put_part.part must be an object"],
  ])("refuses %o", (deltas, text) => {
    expect(() => checkDeltas(deltas as unknown as DraftDelta[], DEFAULT_LIMITS)).toThrow(refusal(text));
  });
});

function refusal(message: string): DomainError {
  return new DomainError("invalid_argument", message);
}
