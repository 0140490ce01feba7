import { create } from "@bufbuild/protobuf";
import type { MessageWithParts } from "../../gen/sessionpool/v1/message_service_pb.js";
import { type Session, SessionSchema } from "../../gen/sessionpool/v1/session_service_pb.js";
import type { Todo } from "../../gen/sessionpool/v1/todo_service_pb.js";

export const PAGE = 100;
export const SESSION = "bench";

/** 1 KB of text with some quotes, line breaks and accents, as in conversations. */
export const TEXT = makeText(1024);

function makeText(length: number): string {
  const sentence = 'The café\'s "daily" log says: run 42 passed,\nthen the parser met an unexpected token. ';
  return sentence.repeat(Math.ceil(length / sentence.length)).slice(0, length);
}

const SYLLABLES = "ka to mi ren sol da ver ti no lu pe ar gon is fa mel or bu chi en".split(" ");

/**
 * Makes a text of about this many characters with the words of a long conversation: a few that are frequent, and many
 * that are rare. The same number always gives the same text.
 */
export function conversationText(length: number, number: number): string {
  let seed = (number + 1) * 2654435761;
  const words: string[] = [];
  for (let size = 0; size < length; size += (words.at(-1) as string).length + 1) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    words.push(wordOf(Math.floor((seed / 2 ** 32) ** 3 * 20_000)));
  }
  return words.join(" ");
}

function wordOf(rank: number): string {
  let word = "";
  for (let rest = rank + 1; rest > 0; rest = Math.floor(rest / SYLLABLES.length))
    word += SYLLABLES[rest % SYLLABLES.length];
  return word;
}

export function sampleTodos(): Todo[] {
  return Array.from({ length: 20 }, (_, i) => ({
    $typeName: "sessionpool.v1.Todo",
    id: `01J0000000000000000000${String(i).padStart(4, "0")}`,
    content: `Look into item ${i} of the report and say what is to be done about it`,
    status: i % 3 === 0 ? "completed" : "pending",
    priority: i % 2 === 0 ? "high" : "medium",
  }));
}

/** Makes the message that a client sends to append 1 KB. */
export function newMessage(): MessageWithParts {
  return {
    $typeName: "sessionpool.v1.MessageWithParts",
    info: {
      $typeName: "sessionpool.v1.MessageInfo",
      id: "",
      role: "user",
      sessionId: "",
      originSessionId: "",
    },
    parts: [{ $typeName: "sessionpool.v1.Part", id: "", type: "text", text: TEXT }],
  };
}

/** The same message as JSON, as REST clients send it. */
export const NEW_MESSAGE_JSON = JSON.stringify({
  info: { role: "user" },
  parts: [{ type: "text", text: TEXT }],
});

/** Makes the session that a page belongs to. */
export function storedSession(): Session {
  return create(SessionSchema, {
    sessionId: SESSION,
    createTime: { seconds: 1_750_000_000n, nanos: 0 },
    updateTime: { seconds: 1_750_000_000n, nanos: 0 },
    messageCount: BigInt(PAGE),
    revision: 1n,
  });
}

/** Makes a message as a page shows it. */
export function storedMessage(position: number): MessageWithParts {
  return {
    $typeName: "sessionpool.v1.MessageWithParts",
    info: {
      $typeName: "sessionpool.v1.MessageInfo",
      id: `01J0000000000000000000${String(position).padStart(4, "0")}`,
      role: "user",
      timestamp: { $typeName: "google.protobuf.Timestamp", seconds: 1_750_000_000n, nanos: position * 1000 },
      sessionId: SESSION,
      position: BigInt(position),
      originSessionId: SESSION,
    },
    parts: [{ $typeName: "sessionpool.v1.Part", id: "", type: "text", text: TEXT }],
  };
}
