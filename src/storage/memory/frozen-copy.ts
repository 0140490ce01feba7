import type { Part } from "../../domain/chat-message.js";
import { MessageBody } from "../../domain/message-body.js";
import type { Entry } from "../history/log-store.js";

/**
 * A deep copy that nobody can change. The store keeps it and returns it to every reader, and neither they nor the
 * writer can damage it.
 */
export function frozenCopy<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return Object.freeze(value.map(frozenCopy)) as T;
  const pairs = Object.entries(value).filter(([, item]) => item !== undefined);
  // fromEntries defines keys, whereas assignment would treat `__proto__` as the prototype.
  return Object.freeze(Object.fromEntries(pairs.map(([key, item]) => [key, frozenCopy(item)]))) as T;
}

/**
 * A deep copy of an entry that nobody can change. Every append makes one, so it is written out for the known shape,
 * which is ten times as fast as {@link frozenCopy}. `remaining` is 0, because appends to this store are all or nothing.
 */
export function frozenEntry(entry: Entry): Entry {
  const { log, seq, id, timestampMicros, role, body, sessionId, originSessionId } = entry;
  const parts = Object.freeze(body.parts.map(frozenPart));
  const { metadata, usage } = body;
  const content = metadata === undefined ? { parts } : { parts, metadata: frozenCopy(metadata) };
  // What a body says of its usage is a copy already.
  const known = usage === undefined ? content : { ...content, usage: Object.freeze(usage) };
  const copy = MessageBody.frozen(Object.freeze(known), body.attachments);
  return Object.freeze({ log, seq, id, timestampMicros, role, body: copy, sessionId, originSessionId, remaining: 0 });
}

function frozenPart({ id, type, text, data, attachment }: Part): Part {
  if (attachment !== undefined) return frozenCopy({ id, type, text, data, attachment });
  return Object.freeze(data === undefined ? { id, type, text } : { id, type, text, data: frozenCopy(data) });
}
