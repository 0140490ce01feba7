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

/** The id, or `id~2`, `id~3` and so on, until it is not taken. */
export function freeId(id: string, isTaken: (id: string) => boolean, idBytes: number): string {
  for (let count = 1, free = id; ; count++, free = withSuffix(id, `~${count}`, idBytes))
    if (!isTaken(free)) return free;
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
