import type { Part } from "../../domain/chat-message.js";
import type { Entry } from "../history/log-store.js";

/**
 * A deep copy that nobody can change: the store keeps it and hands it out, and neither giver nor reader can spoil it.
 */
export function frozenCopy<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return Object.freeze(value.map(frozenCopy)) as T;
  const pairs = Object.entries(value).filter(([, item]) => item !== undefined);
  // fromEntries defines keys where assignment would take `__proto__` for the prototype.
  return Object.freeze(Object.fromEntries(pairs.map(([key, item]) => [key, frozenCopy(item)]))) as T;
}

/**
 * The same for an entry, ten times faster as its shape is known: every append pays for it. Nothing is owed, as appends
 * here are all or nothing.
 */
export function frozenEntry(entry: Entry): Entry {
  const { log, seq, id, timestampMicros, role, metadata, sessionId, originSessionId } = entry;
  const parts = Object.freeze(entry.parts.map(frozenPart));
  const copy = { log, seq, id, timestampMicros, role, parts, sessionId, originSessionId, owed: 0 };
  return Object.freeze(metadata === undefined ? copy : { ...copy, metadata: frozenCopy(metadata) });
}

function frozenPart({ id, type, text, data }: Part): Part {
  return Object.freeze(data === undefined ? { id, type, text } : { id, type, text, data: frozenCopy(data) });
}

/** Roughly how many bytes a value takes on the wire. */
export function roughBytes(value: unknown): number {
  if (typeof value === "string") return Buffer.byteLength(value) + 3;
  if (typeof value !== "object" || value === null) return 8;
  let bytes = 2;
  for (const [key, item] of Object.entries(value)) {
    bytes += roughBytes(item) + (Array.isArray(value) ? 1 : Buffer.byteLength(key) + 3);
  }
  return bytes;
}
