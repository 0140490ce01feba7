import type { ChatMessage, Part } from "./chat-message.js";
import type { JsonObject } from "./json.js";
import type { MessageBody } from "./message-body.js";
import { type BodySizes, bodySizes } from "./message-size.js";
import type { Usage } from "./usage.js";

type ShownFields = Omit<ChatMessage, "parts" | "metadata" | "usage">;

/** Makes a message with this body. The body is decoded when `parts` or `metadata` is first read. */
export function shownMessage(fields: ShownFields, body: MessageBody): ChatMessage {
  if (body.isStored) return new LazyMessage(fields, body);
  const { id, sessionId, role, timestampMicros, position, originSessionId } = fields;
  const { parts, metadata, usage } = body;
  return { id, sessionId, role, timestampMicros, parts, metadata, usage, position, originSessionId };
}

/** The body that a message was made with, if a store keeps it; undefined for any other message. */
export function storedBodyOf(message: ChatMessage): MessageBody | undefined {
  return LazyMessage.bodyOf(message);
}

/** The sizes of a message's body, without decoding it where possible. */
export function sizesOf(message: ChatMessage): BodySizes {
  return storedBodyOf(message)?.sizes ?? bodySizes(message);
}

/**
 * `parts` and `metadata` are own properties, as on a literal, so that `{ ...message }` copies them. Plain values are
 * cheaper to define than getters. They are enough when the body is decoded already, and for metadata that is absent.
 */
class LazyMessage implements ChatMessage {
  readonly id: string;
  readonly sessionId: string;
  readonly role: string;
  readonly timestampMicros: number;
  declare readonly parts: readonly Part[];
  declare readonly metadata: JsonObject | undefined;
  /** It stands in the front of a stored text, so nothing is gained by reading it later. */
  readonly usage: Usage | undefined;
  readonly position: number | undefined;
  readonly originSessionId: string | undefined;
  readonly #body: MessageBody;

  constructor({ id, sessionId, role, timestampMicros, position, originSessionId }: ShownFields, body: MessageBody) {
    this.id = id;
    this.sessionId = sessionId;
    this.role = role;
    this.timestampMicros = timestampMicros;
    this.#body = body;
    const values = this as { parts: readonly Part[]; metadata: JsonObject | undefined };
    if (body.isDecoded) {
      values.parts = body.parts;
      values.metadata = body.metadata;
    } else {
      Object.defineProperty(this, "parts", LazyMessage.#parts);
      if (body.hasMetadata) Object.defineProperty(this, "metadata", LazyMessage.#metadata);
      else values.metadata = undefined;
    }
    this.usage = body.usage;
    this.position = position;
    this.originSessionId = originSessionId;
  }

  static bodyOf(message: ChatMessage): MessageBody | undefined {
    return #body in message ? message.#body : undefined;
  }

  static readonly #parts: PropertyDescriptor & ThisType<LazyMessage> = {
    get() {
      return this.#body.parts;
    },
    enumerable: true,
    configurable: true,
  };

  static readonly #metadata: PropertyDescriptor & ThisType<LazyMessage> = {
    get() {
      return this.#body.metadata;
    },
    enumerable: true,
    configurable: true,
  };
}
