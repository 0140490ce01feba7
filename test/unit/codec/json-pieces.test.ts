import { textOf } from "../../../src/domain/byte-string.js";
import "../../../src/harden.js";
import { create, type DescMessage, fromJson, type Message, toJson } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  ListMessagesResponseSchema,
  MessageWithPartsSchema,
  WatchMessagesResponseSchema,
} from "../../../gen/sessionpool/v1/message_service_pb.js";
import { LoadSessionResponseSchema } from "../../../gen/sessionpool/v1/session_service_pb.js";
import { toMessageWithParts } from "../../../src/api/convert.js";
import { binaryMessageWriter } from "../../../src/codec/binary-writer.js";
import { jsonMessageWriter, shortMessageWriter } from "../../../src/codec/json-writer.js";
import type { ChatMessage } from "../../../src/domain/chat-message.js";
import type { JsonObject } from "../../../src/domain/json.js";
import { MessageBody } from "../../../src/domain/message-body.js";
import { shownMessage } from "../../../src/domain/shown-message.js";
import { knownUsage } from "../../../src/domain/usage-text.js";

const ODD = ["\n", "\u0000", "\u0085", "\u2028", "\u{1F600}", "é", "]", '"', "\\"];
const text = fc.string({ unit: fc.oneof(fc.constantFrom(...ODD), fc.string({ unit: "grapheme", maxLength: 1 })) });
const key = fc.oneof(text, fc.constantFrom("__proto__", "constructor", "toJSON", "", "1", "10", "metadata"));
const struct = fc
  .dictionary(key, fc.jsonValue({ stringUnit: "grapheme" }))
  .map((value) => JSON.parse(JSON.stringify(value)) as JsonObject);
const optionalStruct = fc.option(struct, { nil: undefined });
const usage = fc
  .record({
    model: fc.option(text, { nil: undefined }),
    outputTokens: fc.option(fc.integer({ min: 0, max: 1e9 }), { nil: undefined }),
    cost: fc.constantFrom(undefined, "0.10"),
    startTimeMicros: fc.option(fc.integer({ min: -1e15, max: 4e15 }), { nil: undefined }),
    durationMicros: fc.option(fc.integer({ min: 0, max: 30 * 86_400_000_000 }), { nil: undefined }),
  })
  .map(knownUsage);
const message: fc.Arbitrary<ChatMessage> = fc.record({
  id: text,
  role: text,
  sessionId: text,
  originSessionId: text,
  timestampMicros: fc.integer({ min: -1_000_000_000_000_000, max: 4_000_000_000_000_000 }),
  position: fc.option(fc.nat(), { nil: undefined }),
  parts: fc.array(fc.record({ id: text, type: text, text, data: optionalStruct }), { maxLength: 3 }),
  metadata: optionalStruct,
  usage,
});

/**
 * The message as a store returns it. Databases give bytes or a string, and an earlier version, which knew no usage,
 * wrote other JSON.
 */
function readBack(given: ChatMessage, form: "bytes" | "string" | "earlier"): ChatMessage {
  const { parts, metadata, usage, ...fields } = given;
  const written = MessageBody.of({ parts, metadata, usage }).encode();
  const earlier = JSON.stringify({ parts, metadata });
  return shownMessage(
    fields,
    MessageBody.stored(
      form === "earlier" && usage === undefined ? earlier : form === "bytes" ? Buffer.from(written) : written,
    ),
  );
}

function answers(messages: readonly ChatMessage[]): [DescMessage, Message][] {
  const shown = messages.map(toMessageWithParts);
  return [
    [ListMessagesResponseSchema, create(ListMessagesResponseSchema, { messages: [], nextPageToken: "next" })],
    [LoadSessionResponseSchema, create(LoadSessionResponseSchema, { session: { title: "T" } })],
    [LoadSessionResponseSchema, create(LoadSessionResponseSchema)],
    ...shown.map((value): [DescMessage, Message] => [MessageWithPartsSchema, value]),
    ...shown.map((value): [DescMessage, Message] => [
      WatchMessagesResponseSchema,
      { ...create(WatchMessagesResponseSchema, { resumeToken: "t" }), event: { case: "appended", value } } as Message,
    ]),
  ].map(([desc, answer]) => [desc, "messages" in answer ? { ...answer, messages: shown } : answer]) as [
    DescMessage,
    Message,
  ][];
}

describe("answers with stored messages", () => {
  it("are byte for byte what they are for messages made of values, and what protobuf-es writes", () => {
    const form = fc.constantFrom("bytes" as const, "string" as const, "earlier" as const);
    fc.assert(
      fc.property(fc.array(fc.tuple(message, form), { maxLength: 4 }), (given) => {
        const plain = answers(given.map(([one]) => one));
        const stored = answers(given.map(([one, how]) => readBack(one, how)));
        for (const [i, [desc, answer]] of stored.entries()) {
          const [, expected] = plain[i] as [DescMessage, Message];
          const json = textOf(jsonMessageWriter(desc)(answer));
          expect(json).toBe(textOf(jsonMessageWriter(desc)(expected)));
          expect(json).toBe(JSON.stringify(toJson(desc, expected, { alwaysEmitImplicit: true })));
          const short = textOf(shortMessageWriter(desc)(answer));
          expect(short).toBe(textOf(shortMessageWriter(desc)(expected)));
          expect(fromJson(desc, JSON.parse(short))).toEqual(fromJson(desc, JSON.parse(json)));
          expect(binaryMessageWriter(desc)(answer)).toEqual(binaryMessageWriter(desc)(expected));
        }
      }),
    );
  });

  it("contain the stored bytes without decoding them", () => {
    const body = MessageBody.stored(Buffer.from('{"sizes":[1,1],"parts":\n[no JSON\n,"metadata":\n{nor this}\n}'));
    const fields = { id: "m", sessionId: "s", role: "user", timestampMicros: 0, position: 1, originSessionId: "s" };
    const json = jsonMessageWriter(MessageWithPartsSchema)(toMessageWithParts(shownMessage(fields, body)));
    expect(textOf(json)).toBe(
      '{"info":{"id":"m","role":"user","timestamp":"1970-01-01T00:00:00Z","metadata":{nor this},"sessionId":"s","position":"1","originSessionId":"s"},"parts":[no JSON}',
    );
  });
});
