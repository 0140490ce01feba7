import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type {
  MessageService,
  MessageWithParts,
  MessageWithPartsSchema,
} from "../../../gen/sessionpool/v1/message_service_pb.js";
import type { NumberInit, WithNumbers } from "./int64.js";
import { type PageOptions, pages } from "./pages.js";
import type { ServiceClient } from "./service-client.js";
import { ulid } from "./ulid.js";

/** A message as the service returns it, with numbers for its 64-bit integers. */
export type StoredMessage = WithNumbers<MessageWithParts>;

/** A message to append. */
export type NewMessage = NumberInit<MessageInitShape<typeof MessageWithPartsSchema>>;

type JsonObject = NonNullable<StoredMessage["info"]>["metadata"];

export interface TextOptions {
  /** The id of the message, 1-128 bytes; a ULID is made here when it is absent. */
  readonly id?: string;
  /** The time of the message; the time of storing when absent. */
  readonly timestamp?: Date;
  /** Any data to keep with the message, at most 64 KiB. */
  readonly metadata?: JsonObject;
}

/** A message with a single text. Its id is made here, so that sending it again stores nothing twice. */
export function text(
  role: string,
  content: string,
  { id = ulid(), timestamp, metadata }: TextOptions = {},
): NewMessage {
  const info = {
    id,
    role,
    ...(timestamp !== undefined && { timestamp }),
    ...(metadata !== undefined && { metadata }),
  };
  return { info, parts: [{ type: "text", text: content }] };
}

/** The texts of a message's parts of type `text`, joined. */
export function textOf(message: StoredMessage): string {
  return message.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

export interface AppendOptions {
  /** Appends only if the first message gets this position. */
  readonly expectedPosition?: number;
  /** Makes the session first if it is missing. */
  readonly createSession?: boolean;
  readonly signal?: AbortSignal;
}

export interface Appended {
  /** The ids of the messages, in order. */
  readonly messageIds: readonly string[];
  /** The current position of the first message. */
  readonly position: number;
}

/** Appends one message, or up to 1,000 messages of at most 8 MiB in total, all or nothing. */
export async function append(
  messages: ServiceClient<typeof MessageService>,
  sessionId: string,
  added: NewMessage | readonly NewMessage[],
  { signal, ...options }: AppendOptions = {},
): Promise<Appended> {
  const call = signal === undefined ? {} : { signal };
  return await messages.appendMessages(
    { sessionId, ...options, messages: (Array.isArray(added) ? added : [added]) as NewMessage[] },
    call,
  );
}

export interface HistoryOptions extends PageOptions {
  /** Reads from the newest to the oldest. */
  readonly newestFirst?: boolean;
  /** Puts the messages of the chain of parents in front. */
  readonly includeAncestors?: boolean;
  /** Only messages at or after this time. */
  readonly since?: Date | Timestamp;
  /** Only messages before this time. */
  readonly until?: Date | Timestamp;
  /** Leaves out this many of the messages that would come first. */
  readonly offset?: number;
}

/** All messages of a session, page by page. */
export async function* history(
  messages: ServiceClient<typeof MessageService>,
  sessionId: string,
  { pageSize, signal, offset, ...options }: HistoryOptions = {},
): AsyncGenerator<StoredMessage, void, undefined> {
  const all = pages({ pageSize, signal }, (page, call) => {
    const skip = offset !== undefined && page.pageToken === "" ? { offset } : {};
    return messages.listMessages({ sessionId, ...options, ...skip, ...page }, call);
  });
  for await (const page of all) yield* page.messages;
}
