import type { JsonObject } from "@bufbuild/protobuf";
import type { UIMessage } from "ai";
import { LEAST_FILE_BYTES } from "./attachable.js";
import { countValues } from "./batches.js";
import { exceeds } from "./fitted.js";
import { fittedUIMessage, fromUIMetadata, fromUIPart, type StoredPart } from "./ui-message.js";

/** What the data of a part takes, measured once. */
interface Size {
  readonly json: string;
  readonly bytes: number;
  readonly values: number;
}

/** More than a value's tags and lengths take as protobuf. */
const VALUE_BYTES = 16;
/** More than a character takes as UTF-8. */
const CHARACTER_BYTES = 3;

/**
 * Converts the states of a message that is being streamed, as `fromUIMessage` does, except that halves of characters
 * stay. There is a state for each word, so what has not changed since the last one is the same object and is neither
 * measured, attached nor cut again. Texts and inputs still grow, so they are attached only at the end, by others.
 */
export class FittedState {
  readonly #sizes = new WeakMap<JsonObject, Size>();
  /** The data of parts that may have been too large, and what is kept of each. */
  readonly #kept = new WeakMap<JsonObject, StoredPart>();
  readonly #attach: (part: StoredPart) => Promise<StoredPart>;
  #read: readonly StoredPart[] = [];
  #truncated: JsonObject = {};

  /** `attach` resolves to the part with its large values in attachments. */
  constructor(attach: (part: StoredPart) => Promise<StoredPart>) {
    this.#attach = attach;
  }

  async next({ id, role, parts, metadata }: UIMessage): Promise<{
    readonly parts: readonly StoredPart[];
    readonly metadata: JsonObject;
  }> {
    this.#read = parts.map((part, i) => this.#unlessChanged(fromUIPart(part, i), this.#read[i]));
    const read = this.#read;
    for (const { data, ...part } of read) {
      if (data === undefined || this.#kept.has(data) || isGrowing(part.type, data)) continue;
      if (this.#sizeOf(data).bytes < LEAST_FILE_BYTES) continue;
      this.#kept.set(data, await this.#attach({ ...part, data }));
    }
    const whole = read.map((part) => (part.data && this.#kept.get(part.data)) ?? part);
    const info = { id, role, metadata: { ...fromUIMetadata(metadata), ...this.#truncated } };
    if (!this.#mayExceed(whole, info.metadata)) return { parts: whole, metadata: info.metadata };
    const fit = fittedUIMessage({ info, parts: whole });
    const kept = fit.parts as readonly StoredPart[];
    for (const [i, { data }] of read.entries())
      if (data !== undefined && kept[i] !== undefined && kept[i] !== whole[i]) this.#kept.set(data, kept[i]);
    const { truncated } = (fit.info?.metadata ?? {}) as JsonObject;
    if (truncated !== undefined) this.#truncated = { truncated };
    return { parts: kept, metadata: (fit.info?.metadata ?? {}) as JsonObject };
  }

  #unlessChanged(part: StoredPart, old: StoredPart | undefined): StoredPart {
    const { data } = part;
    if (data === undefined || old?.data === undefined || part.type !== old.type) return part;
    return this.#sizeOf(data).json === this.#sizeOf(old.data).json ? { ...part, data: old.data } : part;
  }

  /** Whether a message may be over a limit, by a bound that is quickly computed. */
  #mayExceed(parts: readonly StoredPart[], metadata: JsonObject): boolean {
    let { bytes, values } = this.#sizeOf(metadata);
    const metadataBytes = bytes;
    for (const { text, data } of parts) {
      const size = data === undefined ? undefined : this.#sizeOf(data);
      bytes += text.length * CHARACTER_BYTES + (size?.bytes ?? 0) + 4 * VALUE_BYTES;
      values += (size?.values ?? 0) + 5;
    }
    return exceeds({ parts: parts.length, bytes, values, metadataBytes });
  }

  #sizeOf(data: JsonObject): Size {
    const known = this.#sizes.get(data);
    if (known !== undefined) return known;
    const json = JSON.stringify(data);
    const values = countValues(data);
    const size = { json, values, bytes: new TextEncoder().encode(json).length + values * VALUE_BYTES };
    this.#sizes.set(data, size);
    return size;
  }
}

/** Whether more of the part is expected: it is a text, or a call whose input or result is not complete. */
function isGrowing(type: string, { state, preliminary }: JsonObject): boolean {
  return type === "text" || type === "reasoning" || state === "input-streaming" || preliminary === true;
}
