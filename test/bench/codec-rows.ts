import {
  create,
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonValue,
  type Message,
  toBinary,
  toJson,
} from "@bufbuild/protobuf";
import { StructSchema } from "@bufbuild/protobuf/wkt";
import {
  AppendMessageRequestSchema,
  ListMessagesResponseSchema,
  type MessageInfo,
  type MessageWithParts,
  MessageWithPartsSchema,
} from "../../gen/sessionpool/v1/message_service_pb.js";
import { ListTodosResponseSchema } from "../../gen/sessionpool/v1/todo_service_pb.js";
import { UndecodedMessage } from "../../src/api/undecoded-message.js";
import { binaryMessageWriter } from "../../src/codec/binary-writer.js";
import { messageReader } from "../../src/codec/json-reader.js";
import { parseJson } from "../../src/codec/json-text.js";
import { jsonMessageWriter } from "../../src/codec/json-writer.js";
import { decodeStruct } from "../../src/codec/struct-codec.js";
import { toBytes } from "../../src/domain/byte-string.js";
import { MessageBody } from "../../src/domain/message-body.js";
import { encodeStruct } from "../support/encode-struct.js";
import type { Row } from "./row.js";
import { NEW_MESSAGE_JSON, PAGE, sampleTodos, storedMessage } from "./samples.js";
import { alternate, during } from "./slices.js";

/** The arguments of a tool call, as an agent sends them. */
const STRUCT = {
  name: "edit_file",
  arguments: { path: "src/main.ts", line: 42, insert: true, text: "const answer = 42;", tags: ["a", "b", "c"] },
  result: { exit_code: 0, output: "ok", durations: [1.5, 2.25, 3] },
};
const PART = { type: "tool", data: STRUCT };
/** Room for any request. */
const ROOM = { mostValues: Number.MAX_SAFE_INTEGER, holdValues: () => {} };

const message = storedMessage(1);
const page = create(ListMessagesResponseSchema, { messages: Array.from({ length: PAGE }, (_, i) => storedMessage(i)) });
const toolMessage = create(MessageWithPartsSchema, { info: { role: "tool" }, parts: [PART] });
const todos = create(ListTodosResponseSchema, { todos: sampleTodos() });
const readOne = rereading(message);
const readEach = page.messages.map(rereading);
const readWholePage = () => create(ListMessagesResponseSchema, { messages: readEach.map((read) => read()) });
const readTool = rereading(toolMessage);
const structBytes = toBinary(StructSchema, fromJson(StructSchema, STRUCT));
const requestBytes = Buffer.from(JSON.stringify({ message: JSON.parse(NEW_MESSAGE_JSON) }));

const writeMessage = binaryMessageWriter(MessageWithPartsSchema);
const writePage = binaryMessageWriter(ListMessagesResponseSchema);
const messageJson = jsonMessageWriter(MessageWithPartsSchema);
const pageJson = jsonMessageWriter(ListMessagesResponseSchema);
const todosJson = jsonMessageWriter(ListTodosResponseSchema);
const readRequest = messageReader(AppendMessageRequestSchema);

/**
 * Compares each handwritten codec with that of the library. A codec that is less than 1.3 times as fast is replaced by
 * the library's, except for the reader of JSON: it need not be faster, because the library checks less than it does.
 */
export const CODEC_ROWS: readonly Row[] = [
  row("codec-binary", "protobuf of a message of 1 KB", () => writeMessage(message), writing(message)),
  row(
    "codec-binary-page",
    `protobuf of ${PAGE} messages`,
    () => writePage(page),
    () => toBinary(ListMessagesResponseSchema, page),
  ),
  row(
    "codec-binary-struct",
    "protobuf of a message with a Struct",
    () => writeMessage(toolMessage),
    writing(toolMessage),
  ),
  row(
    "codec-json",
    "JSON of a stored message of 1 KB",
    () => toBytes(messageJson(readOne())),
    () => libraryJson(MessageWithPartsSchema, readOne()),
  ),
  row(
    "codec-json-page",
    `JSON of ${PAGE} stored messages`,
    () => toBytes(pageJson(readWholePage())),
    () => libraryJson(ListMessagesResponseSchema, readWholePage()),
  ),
  row(
    "codec-json-struct",
    "JSON of a stored message with a Struct",
    () => toBytes(messageJson(readTool())),
    () => libraryJson(MessageWithPartsSchema, readTool()),
  ),
  row(
    "codec-json-todos",
    "JSON of 20 todos",
    () => toBytes(todosJson(todos)),
    () => libraryJson(ListTodosResponseSchema, todos),
  ),
  row(
    "codec-json-read",
    "a request of 1 KB from the bytes of its JSON",
    () => readRequest(parseJson(requestBytes, ROOM)),
    () => fromJson(AppendMessageRequestSchema, JSON.parse(requestBytes.toString("utf8")) as JsonValue),
    0.9,
  ),
  row(
    "codec-struct-read",
    "a Struct from protobuf",
    () => decodeStruct(structBytes, "data"),
    () => fromBinary(StructSchema, structBytes),
  ),
  row(
    "codec-struct-write",
    "protobuf of a Struct",
    () => encodeStruct(STRUCT),
    () => toBinary(StructSchema, fromJson(StructSchema, STRUCT)),
  ),
];

function writing(of: MessageWithParts): () => unknown {
  return () => toBinary(MessageWithPartsSchema, of);
}

/** Writes the JSON that clients get, as the bytes that are sent. */
function libraryJson(desc: DescMessage, of: Message): unknown {
  return Buffer.from(JSON.stringify(toJson(desc, of, { alwaysEmitImplicit: true })));
}

/** Returns a function that makes a message as the API does for each call: of its columns and the bytes of its body. */
function rereading({ info, parts }: MessageWithParts): () => UndecodedMessage {
  const bytes = Buffer.from(
    MessageBody.of({ parts: parts.map(({ id, type, text, data }) => ({ id, type, text, data })) }).encode(),
  );
  return () => new UndecodedMessage(info as MessageInfo, MessageBody.stored(bytes));
}

function row(id: string, what: string, ours: () => unknown, library: () => unknown, atLeast = 1.3): Row {
  return {
    id,
    what: `codec: ${what}`,
    against: "protobuf-es",
    target: { atLeast },
    run: async ({ slices, sliceMs, onProgress }) => {
      const repeated = (work: () => unknown) => during(sliceMs, () => hundredTimes(work));
      const comparison = await alternate(repeated(library), repeated(ours), {
        slices,
        by: "processor",
        onSlice: (done) => onProgress(done, slices),
      });
      return { kind: "ratio", comparison, unit: "messages/s" };
    },
  };
}

function hundredTimes(work: () => unknown): number {
  for (let i = 0; i < 100; i++) work();
  return 100;
}
