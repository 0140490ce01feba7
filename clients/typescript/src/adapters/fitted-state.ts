import type { JsonObject } from "@bufbuild/protobuf";
import type { UIMessage } from "ai";
import { countValues } from "./batches.js";
import { exceeds, fitted } from "./fitted.js";
import { fromUIMetadata, fromUIPart, type StoredPart, withoutCutFiles } from "./ui-message.js";

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
 * measured nor cut again.
 */
export class FittedState {
  readonly #sizes = new WeakMap<JsonObject, Size>();
  /** The data of parts that were too large, and what is kept of each. */
  readonly #cut = new WeakMap<JsonObject, StoredPart>();
  #read: readonly StoredPart[] = [];
  #truncated: JsonObject = {};

  next({ id, role, parts, metadata }: UIMessage): {
    readonly parts: readonly StoredPart[];
    readonly metadata: JsonObject;
  } {
    this.#read = parts.map((part, i) => this.#unlessChanged(fromUIPart(part, i), this.#read[i]));
    const read = this.#read;
    const whole = read.map((part) => (part.data && this.#cut.get(part.data)) ?? part);
    const info = { id, role, metadata: { ...fromUIMetadata(metadata), ...this.#truncated } };
    if (!this.#mayExceed(whole, info.metadata)) return { parts: whole, metadata: info.metadata };
    const fit = withoutCutFiles(fitted({ info, parts: whole }));
    const kept = fit.parts as readonly StoredPart[];
    for (const [i, { data }] of read.entries())
      if (data !== undefined && kept[i] !== undefined && kept[i] !== whole[i]) this.#cut.set(data, kept[i]);
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
