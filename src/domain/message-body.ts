import { ByteRange } from "./byte-range.js";
import type { MessageContent, Part, PartAttachment } from "./chat-message.js";
import type { JsonObject } from "./json.js";
import { type BodySizes, bodySizes, usageFieldSize } from "./message-size.js";
import type { Usage } from "./usage.js";
import { knownUsage, usageOfValues, usageText } from "./usage-text.js";

export type BodyContent = Omit<MessageContent, "role">;

/** An attachment that a body names. */
export interface NamedAttachment {
  readonly attachmentId: string;
  /** The log that has its bytes. */
  readonly log: string;
}

const NONE: readonly NamedAttachment[] = Object.freeze([]);

/** The body of a message in protobuf's JSON form, including zero values, as UTF-8. */
export interface BodyJson {
  readonly parts: ByteRange;
  readonly metadata: ByteRange | undefined;
}

/** Every text that this codec writes begins like this. Earlier versions wrote `{"parts":[...],"metadata":{...}}`. */
const SIGNATURE = Buffer.from('{"sizes":[');
const LINE_FEED = 0x0a;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const CLOSE_OBJECT = 0x7d;
const CLOSE_LIST = 0x5d;
const PARTS_KEY = ',"parts":';

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
 * `sizes` holds the numbers of `BodySizes`. In a body that names attachments, `,"attachments":[["id","log"]]` follows
 * them on the first line, and in a body with a usage `,"usage":[...]`, as `usageText` writes it. Only `encode` writes
 * such text; it never comes from a client. The file is long because what is encoded, and what reads it again without
 * parsing it, belong together.
 */
export class MessageBody implements BodyContent {
  #content: BodyContent | undefined;
  #sizes: BodySizes | undefined;
  readonly #stored: ByteRange | undefined;
  /** Whether the values never change, so that their JSON may be kept. */
  readonly #isFrozen: boolean;
  #json: BodyJson | undefined;
  /** The text to be stored, once it was measured, because whoever measures it is about to store it. */
  #text: string | undefined;
  #storedBytes: number | undefined;
  #attachments: readonly NamedAttachment[] | undefined;
  /** What is known of the usage of values, once it was asked for. */
  #usage: { readonly known: Usage | undefined } | undefined;
  /** It is stored in the text and beside it. */
  #usageText: string | undefined;
  /** What the first line of a stored text says besides the sizes, once it was read. */
  #front: Front | undefined;

  private constructor(
    content: BodyContent | undefined,
    stored: ByteRange | undefined,
    isFrozen: boolean,
    attachments?: readonly NamedAttachment[],
  ) {
    this.#content = content;
    this.#stored = stored;
    this.#isFrozen = isFrozen;
    this.#attachments = attachments;
  }

  /** Makes a body of values, which are not copied. `attachments`: those that the parts name and that are stored. */
  static of(content: BodyContent, attachments: readonly NamedAttachment[] = NONE): MessageBody {
    return content instanceof MessageBody ? content : new MessageBody(content, undefined, false, attachments);
  }

  /** Makes a body of values that nobody can change, as a store keeps them. Its JSON is kept once it has been read. */
  static frozen(content: BodyContent, attachments: readonly NamedAttachment[] = NONE): MessageBody {
    return new MessageBody(content, undefined, true, attachments);
  }

  /**
   * Makes a body of what `encode` returned, in this or an earlier version: as text, or as UTF-8, which is not copied.
   */
  static stored(text: string | Buffer | ByteRange): MessageBody {
    const bytes = text instanceof ByteRange ? text : ByteRange.of(typeof text === "string" ? Buffer.from(text) : text);
    if (isSigned(bytes)) return new MessageBody(undefined, bytes, false);
    return new MessageBody(parse(bytes), undefined, false, NONE);
  }

  get parts(): readonly Part[] {
    return this.#decoded().parts;
  }

  get metadata(): JsonObject | undefined {
    return this.#decoded().metadata;
  }

  /** Absent when nothing is known. Decodes no parts. */
  get usage(): Usage | undefined {
    if (this.#stored !== undefined) return this.#readFront(this.#stored).usage;
    const usage = this.#content?.usage;
    if (usage === undefined || this.#isFrozen) return usage;
    this.#usage ??= { known: knownUsage(usage) };
    return this.#usage.known;
  }

  /** The usage as stores keep it; absent when nothing is known. */
  get usageText(): string | undefined {
    const { usage } = this;
    if (usage !== undefined) this.#usageText ??= usageText(usage);
    return this.#usageText;
  }

  /** The attachments that the body names and that are stored, each once. */
  get attachments(): readonly NamedAttachment[] {
    this.#attachments ??= this.#stored === undefined ? NONE : this.#readFront(this.#stored).attachments;
    return this.#attachments;
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
    if (this.#stored === undefined) return this.#jsonOfValues();
    const { source, start, end } = this.#stored;
    const parts = source.bytes.indexOf(LINE_FEED, start + SIGNATURE.length) + 1;
    if (!endsWithMetadata(this.#stored)) return { parts: new ByteRange(source, parts, end - 2), metadata: undefined };
    const partsEnd = source.bytes.indexOf(LINE_FEED, parts);
    const metadata = source.bytes.indexOf(LINE_FEED, partsEnd + 1) + 1;
    return { parts: new ByteRange(source, parts, partsEnd), metadata: new ByteRange(source, metadata, end - 2) };
  }

  get sizes(): BodySizes {
    this.#sizes ??= this.#stored === undefined ? bodySizes(this.#decoded()) : this.#readSizes(this.#stored);
    return this.#sizes;
  }

  /** The number of bytes that the stored text takes, or would take. */
  get storedBytes(): number {
    if (this.#stored !== undefined) return this.#stored.end - this.#stored.start;
    if (this.#storedBytes === undefined) {
      const text = this.encode();
      this.#storedBytes = Buffer.byteLength(text);
      if (!this.#isFrozen) this.#text = text;
    }
    return this.#storedBytes;
  }

  /** Returns the text to be stored. */
  encode(): string {
    if (this.#stored !== undefined) return this.#stored.toString();
    if (this.#text !== undefined) return this.#text;
    const { parts, metadata } = writeJson(this.#decoded());
    const front = `${SIGNATURE}${this.sizes.parts},${this.sizes.metadata}]${this.#frontText()},"parts":\n${parts}\n`;
    return metadata === undefined ? `${front}}` : `${front},"metadata":\n${metadata}\n}`;
  }

  #frontText(): string {
    const { attachments, usageText } = this;
    const names = attachments.map(({ attachmentId, log }) => [attachmentId, log]);
    const ofNames = names.length === 0 ? "" : `,"attachments":${JSON.stringify(names)}`;
    return usageText === undefined ? ofNames : `${ofNames},"usage":${usageText}`;
  }

  #readFront(stored: ByteRange): Front {
    this.#front ??= readFront(stored);
    return this.#front;
  }

  #readSizes(stored: ByteRange): BodySizes {
    const sizes = readSizes(stored);
    const { usage } = this.#readFront(stored);
    return usage === undefined ? sizes : { ...sizes, usage: usageFieldSize(usage) };
  }

  #jsonOfValues(): BodyJson {
    if (this.#json !== undefined) return this.#json;
    const { parts, metadata } = writeJson(this.#decoded());
    const json = { parts: utf8Of(parts), metadata: metadata === undefined ? undefined : utf8Of(metadata) };
    if (this.#isFrozen) this.#json = json;
    return json;
  }

  #decoded(): BodyContent {
    this.#content ??= parse(this.#stored as ByteRange);
    return this.#content;
  }
}

/** The fields of a stored message that the rule "same id, same content" compares. */
export function contentOf({ role, body }: { readonly role: string; readonly body: MessageBody }): MessageContent {
  const { parts, metadata, usage } = body;
  return { role, parts, metadata, usage };
}

function isSigned({ source: { bytes }, start, end }: ByteRange): boolean {
  if (end - start < SIGNATURE.length) return false;
  for (let i = 0; i < SIGNATURE.length; i++) if (bytes[start + i] !== SIGNATURE[i]) return false;
  return true;
}

/**
 * The parts and the metadata of a stored text. The sizes of attachments are texts there, as protobuf's JSON has 64-bit
 * numbers.
 */
function parse(bytes: ByteRange): BodyContent {
  const { parts, metadata } = JSON.parse(bytes.toString()) as BodyContent;
  if (!parts.some(({ attachment }) => attachment !== undefined)) return { parts, metadata };
  return {
    parts: parts.map((part) => ({ ...part, attachment: part.attachment && readAttachment(part.attachment) })),
    metadata,
  };
}

function readAttachment({ missing, ...attachment }: PartAttachment): PartAttachment {
  return { ...attachment, size: Number(attachment.size), ...(missing && { missing }) };
}

function writeAttachment({ attachmentId, mediaType, name, size, sha256, missing }: PartAttachment) {
  return { attachmentId, mediaType, name, size: String(size), sha256, missing: missing === true };
}

/** What the first line of a stored text may say besides the sizes. */
interface Front {
  readonly attachments: readonly NamedAttachment[];
  readonly usage: Usage | undefined;
}

const EMPTY_FRONT: Front = { attachments: NONE, usage: undefined };

function readFront({ source: { bytes }, start }: ByteRange): Front {
  const sizesEnd = bytes.indexOf(CLOSE_LIST, start + SIGNATURE.length) + 1;
  const lineEnd = bytes.indexOf(LINE_FEED, sizesEnd);
  if (lineEnd - sizesEnd === PARTS_KEY.length) return EMPTY_FRONT;
  const members = bytes.toString("utf8", sizesEnd + 1, lineEnd - PARTS_KEY.length);
  const { attachments = [], usage } = JSON.parse(`{${members}}`) as StoredFront;
  return {
    attachments: attachments.map(([attachmentId, log]) => ({ attachmentId, log })),
    usage: usage && usageOfValues(usage),
  };
}

interface StoredFront {
  readonly attachments?: readonly (readonly [id: string, log: string])[];
  readonly usage?: Parameters<typeof usageOfValues>[0];
}

function utf8Of(text: string): ByteRange {
  return ByteRange.of(Buffer.from(text));
}

/** Writes only these members of a part, in this order, whatever else the object has. */
function writeJson({ parts, metadata }: BodyContent): { parts: string; metadata: string | undefined } {
  return {
    parts: JSON.stringify(
      parts.map(({ id, type, text, data, attachment }) =>
        attachment === undefined
          ? { id, type, text, data }
          : { id, type, text, data, attachment: writeAttachment(attachment) },
      ),
    ),
    metadata: metadata && JSON.stringify(metadata),
  };
}

/** The text ends with `]`, line feed, `}`, or with `}`, line feed, `}` when there is metadata. */
function endsWithMetadata({ source: { bytes }, end }: ByteRange): boolean {
  return bytes[end - 3] === CLOSE_OBJECT;
}

function readSizes({ source: { bytes }, start }: ByteRange): BodySizes {
  let at = start + SIGNATURE.length;
  const next = (): number => {
    let value = 0;
    for (let byte = bytes[at] as number; byte >= DIGIT_0 && byte <= DIGIT_9; byte = bytes[++at] as number) {
      value = value * 10 + byte - DIGIT_0;
    }
    at += 1;
    return value;
  };
  return { parts: next(), metadata: next(), usage: 0 };
}
