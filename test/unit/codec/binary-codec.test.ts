import { create, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import {
  AppendMessageRequestSchema,
  AppendMessagesRequestSchema,
  ListMessagesResponseSchema,
  MessageService,
  WatchMessagesResponseSchema,
} from "../../../gen/sessionpool/v1/message_service_pb.js";
import {
  CreateSessionRequestSchema,
  SessionService,
  UpdateSessionRequestSchema,
} from "../../../gen/sessionpool/v1/session_service_pb.js";
import { wireMethod } from "../../../src/codec/binary-codec.js";

const ROOM = { mostValues: 100, holdValues: () => {} };
const STRUCT: JsonObject = { text: "é😀", n: -1.5, list: [null, true, { deep: [] }], empty: {} };
const AWKWARD = JSON.parse('{"__proto__":{"a":1},"":"","a.b":"\ufeff","$set":["\\u0000"]}') as JsonObject;

const append = wireMethod(MessageService.method.appendMessage);
const update = wireMethod(SessionService.method.updateSession);

function appendRequest(metadata: JsonObject | undefined, data: JsonObject | undefined) {
  return create(AppendMessageRequestSchema, {
    sessionId: "s",
    expectedPosition: 0n,
    message: {
      info: { id: "m", role: "user", timestamp: timestampFromMs(1_700_000_000_001), metadata },
      parts: [
        { type: "text", text: "hi" },
        { id: "p", type: "tool", data },
      ],
    },
  });
}

describe("the binary wire", () => {
  it("writes and reads the same bytes as protobuf-es, where that loses nothing", () => {
    for (const request of [
      appendRequest(STRUCT, STRUCT),
      appendRequest(undefined, STRUCT),
      appendRequest(undefined, undefined),
    ]) {
      const bytes = toBinary(AppendMessageRequestSchema, request);
      expect(Buffer.from(append.encodeRequest(request))).toEqual(Buffer.from(bytes));
      expect(append.decodeRequest(bytes, ROOM)).toStrictEqual(request);
    }
  });

  it("keeps keys that protobuf-es loses", () => {
    const read = append.decodeRequest(append.encodeRequest(appendRequest(AWKWARD, AWKWARD)), ROOM);
    const { message } = read as ReturnType<typeof appendRequest>;
    expect(JSON.stringify(message?.info?.metadata)).toBe(JSON.stringify(AWKWARD));
    expect(JSON.stringify(message?.parts[1]?.data)).toBe(JSON.stringify(AWKWARD));
  });

  it("reads and writes every Struct of a list, in its place", () => {
    const message = appendRequest(STRUCT, AWKWARD).message;
    const batch = wireMethod(MessageService.method.appendMessages);
    const request = create(AppendMessagesRequestSchema, { messages: [message!, { info: { role: "r" } }, message!] });
    const read = batch.decodeRequest(batch.encodeRequest(request), ROOM) as typeof request;
    expect(read.messages.map(({ info }) => info?.metadata)).toStrictEqual([STRUCT, undefined, STRUCT]);
    const list = wireMethod(MessageService.method.listMessages);
    const answer = create(ListMessagesResponseSchema, { messages: [message!], nextPageToken: "t" });
    const answered = list.decodeResponse(list.encodeResponse(answer)) as typeof answer;
    expect(JSON.stringify(answered.messages[0]?.parts[1]?.data)).toBe(JSON.stringify(AWKWARD));
    expect(answered.nextPageToken).toBe("t");
  });

  it("reads and writes Structs in a oneof, and leaves its other cases alone", () => {
    const watch = wireMethod(MessageService.method.watchMessages);
    const appended = create(WatchMessagesResponseSchema, {
      event: { case: "appended", value: appendRequest(STRUCT, STRUCT).message! },
      resumeToken: "t",
    });
    const bytes = watch.encodeResponse(appended);
    expect(Buffer.from(bytes)).toEqual(Buffer.from(toBinary(WatchMessagesResponseSchema, appended)));
    expect(watch.decodeResponse(bytes)).toStrictEqual(appended);
    const truncated = create(WatchMessagesResponseSchema, {
      event: { case: "truncated", value: { messageCount: 0n } },
    });
    expect(watch.decodeResponse(watch.encodeResponse(truncated))).toStrictEqual(truncated);
  });

  it("distinguishes an empty Struct from none", () => {
    for (const metadata of [{}, undefined]) {
      const request = create(UpdateSessionRequestSchema, { sessionId: "s", metadata });
      const read = update.decodeRequest(toBinary(UpdateSessionRequestSchema, request), ROOM) as typeof request;
      expect(read.metadata).toStrictEqual(metadata);
      expect(Buffer.from(update.encodeRequest(request))).toEqual(
        Buffer.from(toBinary(UpdateSessionRequestSchema, request)),
      );
    }
  });

  it("never changes its input", () => {
    const request = appendRequest(STRUCT, STRUCT);
    const before = structuredClone(request);
    append.encodeRequest(request);
    expect(request).toStrictEqual(before);
  });

  it("keeps U+FEFF at the start of a string", () => {
    const createSession = wireMethod(SessionService.method.createSession);
    const request = create(CreateSessionRequestSchema, { title: "\ufefftitle" });
    const read = createSession.decodeRequest(toBinary(CreateSessionRequestSchema, request), ROOM) as typeof request;
    expect(read.title).toBe("\ufefftitle");
  });

  it.each([
    ["a message that is cut off", Buffer.from("0a05616263", "hex")],
    ["invalid UTF-8", Buffer.from("0a01ff", "hex")],
    ["a Value without a kind", Buffer.from("1a07" + "0a05" + "0a0161" + "1200", "hex")],
    ["a field number of 0", Buffer.from("0001", "hex")],
  ])("refuses %s with invalid_argument", (_what, bytes) => {
    expect(() => update.decodeRequest(bytes, ROOM)).toThrow(expect.objectContaining({ code: Code.InvalidArgument }));
  });

  it("names the field of a Struct that it refuses", () => {
    const bytes = Buffer.from("1a07" + "0a05" + "0a0161" + "1200", "hex");
    expect(() => update.decodeRequest(bytes, ROOM)).toThrow("metadata is malformed: it holds a Value without a kind");
  });

  it("drops unknown fields", () => {
    const bytes = Buffer.concat([
      toBinary(UpdateSessionRequestSchema, create(UpdateSessionRequestSchema, { sessionId: "s" })),
      Buffer.from("ba3e0178", "hex"),
    ]);
    expect(update.decodeRequest(bytes, ROOM)).toStrictEqual(create(UpdateSessionRequestSchema, { sessionId: "s" }));
  });
});
