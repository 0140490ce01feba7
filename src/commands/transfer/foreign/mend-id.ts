import { createHash } from "node:crypto";
import { hasControl } from "../../../domain/validate.js";
import { cutText } from "./cut-text.js";
import { type OnMend, storableText } from "./storable.js";

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this replaces
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g;
const DIGEST_DIGITS = 16;

/** An id that the service accepts: unchanged, if it does already, and always the same for the same text. */
export function mendId(id: string, idBytes: number, onMend: OnMend): string {
  let mended = storableText(id, onMend);
  if (hasControl(mended)) mended = mended.replace(CONTROL, "\ufffd");
  if (mended === "." || mended === "..") mended = `~${mended}`;
  if (Buffer.byteLength(mended) > idBytes) {
    mended = `${cutText(mended, idBytes - DIGEST_DIGITS - 1)}~${digestOf(id)}`;
  }
  if (mended !== id && id.isWellFormed()) onMend("ids that were changed");
  return mended;
}

/** Ids that are taken already. */
export class TakenIds {
  readonly #ids: Set<string>;
  /** Where the search for a free id ended, so that an id can occur any number of times. */
  readonly #counts = new Map<string, number>();

  constructor(ids: Iterable<string> = []) {
    this.#ids = new Set(ids);
  }

  get size(): number {
    return this.#ids.size;
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  add(id: string): void {
    this.#ids.add(id);
  }

  /** The id, or the first of `id~2`, `id~3` and so on that is not taken. */
  free(id: string, idBytes: number): string {
    if (!this.#ids.has(id)) return id;
    for (let count = this.#counts.get(id) ?? 2; ; count++) {
      const free = withSuffix(id, `~${count}`, idBytes);
      if (this.#ids.has(free)) continue;
      this.#counts.set(id, count);
      return free;
    }
  }
}

/** The id with a suffix, cut so that both fit. */
export function withSuffix(id: string, suffix: string, idBytes: number): string {
  const joined = `${id}${suffix}`;
  if (Buffer.byteLength(joined) <= idBytes) return joined;
  const short = `~${digestOf(joined)}`;
  return `${cutText(id, idBytes - short.length)}${short}`;
}

export function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, DIGEST_DIGITS);
}
