import type { MessageContent, Part } from "./chat-message.js";
import type { JsonObject } from "./json.js";
import { type BodySizes, bodySizes } from "./message-size.js";

export type BodyContent = Omit<MessageContent, "role">;

/** JSON text: UTF-8 bytes where a database gives them, else a string. */
export type JsonText = string | Buffer;

/** The body of a message as JSON in the form of protobuf, zero values included. */
export interface BodyJson {
  readonly parts: JsonText;
  readonly metadata: JsonText | undefined;
}

/** Every text that this codec has written begins so. Earlier versions wrote `{"parts":[...],"metadata":{...}}`. */
const SIGNATURE = '{"sizes":[';
const NEWLINE = 0x0a;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;

/**
 * The parts and the metadata of a message. It knows them as values or as stored text, or both: what a store has read is
 * decoded when somebody looks at it, and is passed on as it is where nobody does.
 *
 * The stored text is JSON in lines, which `JSON.stringify` never makes by itself, so that nobody need search for the ends:
 *
 *     {"sizes":[14,4],"parts":
 *     [{"id":"","type":"text","text":"Hello"}]
 *     ,"metadata":
 *     {"a":1}
 *     }
 *
 * `sizes` are those of `BodySizes`. It is only ever text that `encode` has written, never bytes of a client.
 */
export class MessageBody implements BodyContent {
  #content: BodyContent | undefined;
  #sizes: BodySizes | undefined;
  readonly #stored: JsonText | undefined;

  private constructor(content: BodyContent | undefined, stored: JsonText | undefined) {
    this.#content = content;
    this.#stored = stored;
  }

  /** Of values, which are not copied. */
  static of(content: BodyContent): MessageBody {
    return content instanceof MessageBody ? content : new MessageBody(content, undefined);
  }

  /** Of what `encode` has made, now or in an earlier version. */
  static stored(text: JsonText): MessageBody {
    return isOurs(text) ? new MessageBody(undefined, text) : new MessageBody(parse(text), undefined);
  }

  get parts(): readonly Part[] {
    return this.#decoded().parts;
  }

  get metadata(): JsonObject | undefined {
    return this.#decoded().metadata;
  }

  /** Whether it is known as stored text, which can be passed on. */
  get isStored(): boolean {
    return this.#stored !== undefined;
  }

  /** Does not decode. */
  get hasMetadata(): boolean {
    return this.#stored === undefined ? this.#content?.metadata !== undefined : endsWithMetadata(this.#stored);
  }

  get json(): BodyJson {
    const stored = this.#stored;
    if (stored === undefined) return writeJson(this.#decoded());
    const start = lineEnd(stored, SIGNATURE.length) + 1;
    if (!endsWithMetadata(stored)) return { parts: between(stored, start, stored.length - 2), metadata: undefined };
    const end = lineEnd(stored, start);
    const metadata = between(stored, lineEnd(stored, end + 1) + 1, stored.length - 2);
    return { parts: between(stored, start, end), metadata };
  }

  /**
   * The parts in which each character of a text stands for one byte of its UTF-8, for who writes bytes: neither decoded nor encoded, they are had in a
   * third of the time. Undefined where only `parts` will do. Not kept.
   */
  get partsOfBytes(): readonly Part[] | undefined {
    if (this.#content !== undefined || !(this.#stored instanceof Buffer)) return undefined;
    const parts = this.json.parts as Buffer;
    // Half a surrogate pair is the only character beyond ASCII that JSON.stringify escapes.
    return parts.includes("\\ud") ? undefined : (JSON.parse(parts.toString("latin1")) as Part[]);
  }

  get sizes(): BodySizes {
    this.#sizes ??= this.#stored === undefined ? bodySizes(this.#decoded()) : readSizes(this.#stored);
    return this.#sizes;
  }

  /** The text to be stored. */
  encode(): string {
    if (this.#stored !== undefined) return this.#stored.toString();
    const { parts, metadata } = writeJson(this.#decoded());
    const front = `${SIGNATURE}${this.sizes.parts},${this.sizes.metadata}],"parts":\n${parts}\n`;
    return metadata === undefined ? `${front}}` : `${front},"metadata":\n${metadata}\n}`;
  }

  #decoded(): BodyContent {
    this.#content ??= parse(this.#stored as JsonText);
    return this.#content;
  }
}

/** What the rule "same id, same content" compares of a stored message. */
export function contentOf({ role, body }: { readonly role: string; readonly body: MessageBody }): MessageContent {
  const { parts, metadata } = body;
  return { role, parts, metadata };
}

function parse(text: JsonText): BodyContent {
  return JSON.parse(text.toString()) as BodyContent;
}

/** Of a part only these members, in this order, whatever else the object has. */
function writeJson({ parts, metadata }: BodyContent): { parts: string; metadata: string | undefined } {
  return {
    parts: JSON.stringify(parts.map(({ id, type, text, data }) => ({ id, type, text, data }))),
    metadata: metadata && JSON.stringify(metadata),
  };
}

function isOurs(text: JsonText): boolean {
  return typeof text === "string"
    ? text.startsWith(SIGNATURE)
    : text.toString("latin1", 0, SIGNATURE.length) === SIGNATURE;
}

/** The last characters are `]`, line feed, `}`, or `}`, line feed, `}` after metadata. */
function endsWithMetadata(text: JsonText): boolean {
  return codeAt(text, text.length - 3) === 0x7d;
}

function readSizes(text: JsonText): BodySizes {
  let at = SIGNATURE.length;
  const next = (): number => {
    let value = 0;
    for (let code = codeAt(text, at); code >= DIGIT_0 && code <= DIGIT_9; code = codeAt(text, ++at)) {
      value = value * 10 + code - DIGIT_0;
    }
    at += 1;
    return value;
  };
  return { parts: next(), metadata: next() };
}

function codeAt(text: JsonText, at: number): number {
  return typeof text === "string" ? text.charCodeAt(at) : (text[at] as number);
}

function lineEnd(text: JsonText, from: number): number {
  return typeof text === "string" ? text.indexOf("\n", from) : text.indexOf(NEWLINE, from);
}

function between(text: JsonText, start: number, end: number): JsonText {
  return typeof text === "string" ? text.slice(start, end) : text.subarray(start, end);
}
