import { deflateSync } from "node:zlib";

const OP_REPLY = 1;
const OP_COMPRESSED = 2012;
const OP_MSG = 2013;
const ZLIB = 2;

/** `{ok: 1}` */
const OK = Buffer.from([13, 0, 0, 0, 16, 0x6f, 0x6b, 0, 1, 0, 0, 0, 0]);

/** What a MongoDB server might send in place of an answer. Without a check, the driver loops for ever on some of it. */
export const BROKEN_REPLIES: Readonly<Record<string, Buffer>> = {
  "zero bytes": Buffer.alloc(64),
  "another protocol": Buffer.from("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"),
  "a message smaller than its header": Buffer.concat([int32(5), Buffer.alloc(60)]),
  "a message of a negative size": Buffer.concat([int32(-1), Buffer.alloc(60)]),
  "a message of two gigabytes": Buffer.concat([int32(0x7fffffff, 1, 1, OP_MSG), Buffer.alloc(60)]),
  "a message with an unknown opcode": message(7, Buffer.concat([int32(0), Buffer.of(0), OK])),
  "an OP_MSG without a document": message(OP_MSG, int32(0)),
  "a section of a negative size": message(OP_MSG, Buffer.concat([int32(0), Buffer.of(0), int32(-1), Buffer.alloc(8)])),
  "a section of size 0": message(OP_MSG, Buffer.concat([int32(0), Buffer.of(0), int32(0), Buffer.alloc(8)])),
  "two sections": message(OP_MSG, Buffer.concat([int32(0), Buffer.of(0), OK, Buffer.of(0), int32(-1)])),
  "a section of another kind": message(OP_MSG, Buffer.concat([int32(0), Buffer.of(1), OK])),
  "a reply of two billion documents": message(OP_REPLY, Buffer.concat([int32(8, 0, 0, 0, 0x7fffffff), OK])),
  "a reply of no document": message(OP_REPLY, int32(8, 0, 0, 0, 0)),
  "compression that was not agreed on": compressed(Buffer.concat([int32(0), Buffer.of(0), OK])),
};

/** Messages with a frame as it must be, whose document is broken. */
export const BROKEN_DOCUMENTS: Readonly<Record<string, Buffer>> = {
  "a value of an unknown type": message(OP_MSG, inMsg(document(Buffer.from([0x77, 0x6f, 0x6b, 0, 1, 0, 0, 0])))),
  "a text longer than the document": message(
    OP_MSG,
    inMsg(document(Buffer.from([2, 97, 0, 0xff, 0xff, 0xff, 0x7f, 0]))),
  ),
  "a document of a negative size": message(OP_MSG, inMsg(document(Buffer.from([3, 97, 0, 0xf0, 0xff, 0xff, 0xff, 0])))),
  "a name without an end": message(OP_MSG, inMsg(document(Buffer.from([16, 97, 97, 97, 97, 97, 97, 97])))),
  "no values": message(OP_MSG, inMsg(document(Buffer.alloc(0)))),
  "an answer that more will follow": message(OP_MSG, Buffer.concat([int32(2), Buffer.of(0), OK])),
};

/** On this the driver loops for ever, because what was compressed cannot be checked before it. */
export const ENDLESS_WHEN_COMPRESSED = compressed(Buffer.concat([int32(0), Buffer.of(0), int32(-1), Buffer.alloc(8)]));

/** The beginning of a message that never goes on. */
export const HALF_A_MESSAGE = message(OP_MSG, inMsg(OK)).subarray(0, 30);

export const WHOLE_MESSAGES = [
  message(OP_MSG, inMsg(OK)),
  message(OP_REPLY, Buffer.concat([int32(8, 0, 0, 0, 1), OK])),
] as const;

export function compressed(body: Buffer): Buffer {
  return message(OP_COMPRESSED, Buffer.concat([int32(OP_MSG, body.length), Buffer.of(ZLIB), deflateSync(body)]));
}

function message(opcode: number, body: Buffer): Buffer {
  return Buffer.concat([int32(16 + body.length, 1, 1, opcode), body]);
}

function inMsg(document: Buffer): Buffer {
  return Buffer.concat([int32(0), Buffer.of(0), document]);
}

function document(values: Buffer): Buffer {
  return Buffer.concat([int32(values.length + 5), values, Buffer.of(0)]);
}

function int32(...numbers: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * numbers.length);
  for (const [i, number] of numbers.entries()) bytes.writeInt32LE(number, 4 * i);
  return bytes;
}
