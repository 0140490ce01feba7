import type { Socket } from "node:net";
import { BSON, type Document } from "mongodb";

const HEADER_BYTES = 16;
const OP_REPLY = 1;
const OP_QUERY = 2004;
const OP_MSG = 2013;
/** The document follows the header, flags, cursor id, place of the first document and number of documents. */
const OP_REPLY_DOCUMENT_AT = HEADER_BYTES + 20;
/** Keeps the BSON type of every number. */
const EXACT = { promoteValues: false, promoteLongs: false, promoteBuffers: false } as const;

/** Calls `take` with each whole message of the wire protocol, however the network has cut them. */
export function eachMessage(socket: Socket, take: (message: Buffer) => void): void {
  let pending = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk]);
    while (pending.length >= HEADER_BYTES && pending.length >= pending.readInt32LE(0)) {
      const length = pending.readInt32LE(0);
      take(Buffer.from(pending.subarray(0, length)));
      pending = pending.subarray(length);
    }
  });
}

export function requestIdOf(message: Buffer): number {
  return message.readInt32LE(4);
}

/** Returns the id of the request that a reply answers. */
export function responseToOf(message: Buffer): number {
  return message.readInt32LE(8);
}

/** Returns the command of a request, including the documents that were sent in sections of their own. */
export function commandOf(message: Buffer): Document {
  switch (message.readInt32LE(12)) {
    case OP_MSG:
      return bodyOfMsg(message);
    case OP_QUERY: {
      const nameEnd = message.indexOf(0, HEADER_BYTES + 4);
      return documentAt(message, nameEnd + 1 + 8);
    }
    default:
      throw new Error(`The proxy does not know opcode ${message.readInt32LE(12)}`);
  }
}

export function replyOf(message: Buffer): Document {
  return message.readInt32LE(12) === OP_REPLY ? documentAt(message, OP_REPLY_DOCUMENT_AT) : bodyOfMsg(message);
}

/** Returns the same reply with another document. */
export function withReply(message: Buffer, reply: Document): Buffer {
  const front = message.readInt32LE(12) === OP_REPLY ? OP_REPLY_DOCUMENT_AT : HEADER_BYTES + 5;
  const answer = Buffer.concat([message.subarray(0, front), BSON.serialize(reply)]);
  answer.writeInt32LE(answer.length, 0);
  return answer;
}

/** Makes a reply to a request that never reached the server. */
export function replyTo(request: Buffer, reply: Document): Buffer {
  const front = Buffer.alloc(HEADER_BYTES + 5);
  front.writeInt32LE(requestIdOf(request), 8);
  front.writeInt32LE(OP_MSG, 12);
  return withReply(front, reply);
}

/** Returns the same request with another command, as one document. */
export function withCommand(request: Buffer, command: Document): Buffer {
  const front = Buffer.alloc(HEADER_BYTES + 5);
  request.copy(front, 0, 0, HEADER_BYTES);
  front.writeInt32LE(OP_MSG, 12);
  return withReply(front, command);
}

function bodyOfMsg(message: Buffer): Document {
  let body: Document = {};
  const beside: Document = {};
  for (let at = HEADER_BYTES + 4; at < message.length; ) {
    const kind = message[at];
    const size = message.readInt32LE(at + 1);
    if (kind === 0) body = documentAt(message, at + 1);
    else Object.assign(beside, sequenceOf(message.subarray(at + 1, at + 1 + size)));
    at += 1 + size;
  }
  return { ...body, ...beside };
}

/** Reads a section, which consists of its size, its name and its documents. */
function sequenceOf(section: Buffer): Document {
  const nameEnd = section.indexOf(0, 4);
  const documents: Document[] = [];
  for (let at = nameEnd + 1; at < section.length; at += section.readInt32LE(at))
    documents.push(documentAt(section, at));
  return { [section.subarray(4, nameEnd).toString()]: documents };
}

function documentAt(message: Buffer, at: number): Document {
  return BSON.deserialize(message.subarray(at, at + message.readInt32LE(at)), EXACT);
}
