import { type ByteString, byteStringOf, sliceBytes, textOf, toByteString } from "./byte-string.js";
import type { MessageContent, Part } from "./chat-message.js";
import type { JsonObject } from "./json.js";
import { type BodySizes, bodySizes } from "./message-size.js";

export type BodyContent = Omit<MessageContent, "role">;

/** The body of a message in protobuf's JSON form, including zero values. */
export interface BodyJson {
  readonly parts: ByteString;
  readonly metadata: ByteString | undefined;
}

/** Every text that this codec writes begins like this. Earlier versions wrote `{"parts":[...],"metadata":{...}}`. */
const SIGNATURE = '{"sizes":[';
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;

/**
 * The parts and the metadata of a message, as values, as stored text, or both. What a store has read is decoded only
 * when somebody looks at it; otherwise it is passed on as it is.
 *
 * The stored text is JSON with a line for each piece. `JSON.stringify` never writes a line feed, so every line feed
 * marks the end of a piece:
 *
 *     {"sizes":[14,4],"parts":
 *     [{"id":"","type":"text","text":"Hello"}]
 *     ,"metadata":
 *     {"a":1}
 *     }
 *
 * `sizes` holds the numbers of `BodySizes`. Only `encode` writes such text; it never comes from a client.
 */
export class MessageBody implements BodyContent {
  #content: BodyContent | undefined;
  #sizes: BodySizes | undefined;
  readonly #stored: ByteString | undefined;
  /** Whether the values never change, so that their JSON may be kept. */
  readonly #isFrozen: boolean;
  #json: BodyJson | undefined;

  private constructor(content: BodyContent | undefined, stored: ByteString | undefined, isFrozen = false) {
    this.#content = content;
    this.#stored = stored;
    this.#isFrozen = isFrozen;
  }

  /** Makes a body of values, which are not copied. */
  static of(content: BodyContent): MessageBody {
    return content instanceof MessageBody ? content : new MessageBody(content, undefined);
  }

  /** Makes a body of values that nobody can change, as a store keeps them. Its JSON is kept once it has been read. */
  static frozen(content: BodyContent): MessageBody {
    return new MessageBody(content, undefined, true);
  }

  /** Makes a body of what `encode` returned, in this or an earlier version: as text, or as UTF-8. */
  static stored(text: string | Buffer): MessageBody {
    return MessageBody.storedBytes(typeof text === "string" ? toByteString(text) : byteStringOf(text));
  }

  /** Makes a body of what `encode` returned, in this or an earlier version, given as UTF-8 in a string. */
  static storedBytes(bytes: ByteString): MessageBody {
    return bytes.startsWith(SIGNATURE) ? new MessageBody(undefined, bytes) : new MessageBody(parse(bytes), undefined);
  }

  get parts(): readonly Part[] {
    return this.#decoded().parts;
  }

  get metadata(): JsonObject | undefined {
    return this.#decoded().metadata;
  }

  /** Whether a store keeps the body, so that `json` is known, or is kept once it has been read. */
  get isStored(): boolean {
    return this.#stored !== undefined || this.#isFrozen;
  }

  /** Whether the values are known, so that reading them decodes nothing. */
  get isDecoded(): boolean {
    return this.#content !== undefined;
  }

  /** Whether there is metadata. Decodes nothing. */
  get hasMetadata(): boolean {
    return this.#stored === undefined ? this.#content?.metadata !== undefined : endsWithMetadata(this.#stored);
  }

  get json(): BodyJson {
    const stored = this.#stored;
    if (stored === undefined) return this.#jsonOfValues();
    const start = stored.indexOf("\n", SIGNATURE.length) + 1;
    if (!endsWithMetadata(stored)) return { parts: sliceBytes(stored, start, -2), metadata: undefined };
    const end = stored.indexOf("\n", start);
    const metadata = sliceBytes(stored, stored.indexOf("\n", end + 1) + 1, -2);
    return { parts: sliceBytes(stored, start, end), metadata };
  }

  /**
   * The parts with one character for each byte of UTF-8, for callers that write bytes. This saves decoding and
   * encoding, a third of the time. Undefined when only `parts` is correct. Not cached.
   */
  get partsOfBytes(): readonly Part[] | undefined {
    if (this.#content !== undefined) return undefined;
    const { parts } = this.json;
    // A lone surrogate is the only character beyond ASCII that JSON.stringify escapes.
    return parts.includes("\\ud") ? undefined : (JSON.parse(parts) as Part[]);
  }

  get sizes(): BodySizes {
    this.#sizes ??= this.#stored === undefined ? bodySizes(this.#decoded()) : readSizes(this.#stored);
    return this.#sizes;
  }

  /** Returns the text to be stored. */
  encode(): string {
    if (this.#stored !== undefined) return textOf(this.#stored);
    const { parts, metadata } = writeJson(this.#decoded());
    const front = `${SIGNATURE}${this.sizes.parts},${this.sizes.metadata}],"parts":\n${parts}\n`;
    return metadata === undefined ? `${front}}` : `${front},"metadata":\n${metadata}\n}`;
  }

  #jsonOfValues(): BodyJson {
    if (this.#json !== undefined) return this.#json;
    const { parts, metadata } = writeJson(this.#decoded());
    const json = { parts: toByteString(parts), metadata: metadata === undefined ? undefined : toByteString(metadata) };
    if (this.#isFrozen) this.#json = json;
    return json;
  }

  #decoded(): BodyContent {
    this.#content ??= parse(this.#stored as ByteString);
    return this.#content;
  }
}

/** The fields of a stored message that the rule "same id, same content" compares. */
export function contentOf({ role, body }: { readonly role: string; readonly body: MessageBody }): MessageContent {
  const { parts, metadata } = body;
  return { role, parts, metadata };
}

function parse(bytes: ByteString): BodyContent {
  return JSON.parse(textOf(bytes)) as BodyContent;
}

/** Writes only these members of a part, in this order, whatever else the object has. */
function writeJson({ parts, metadata }: BodyContent): { parts: string; metadata: string | undefined } {
  return {
    parts: JSON.stringify(parts.map(({ id, type, text, data }) => ({ id, type, text, data }))),
    metadata: metadata && JSON.stringify(metadata),
  };
}

/** The text ends with `]`, line feed, `}`, or with `}`, line feed, `}` when there is metadata. */
function endsWithMetadata(bytes: ByteString): boolean {
  return bytes.charCodeAt(bytes.length - 3) === 0x7d;
}

function readSizes(bytes: ByteString): BodySizes {
  let at = SIGNATURE.length;
  const next = (): number => {
    let value = 0;
    for (let code = bytes.charCodeAt(at); code >= DIGIT_0 && code <= DIGIT_9; code = bytes.charCodeAt(++at)) {
      value = value * 10 + code - DIGIT_0;
    }
    at += 1;
    return value;
  };
  return { parts: next(), metadata: next() };
}
