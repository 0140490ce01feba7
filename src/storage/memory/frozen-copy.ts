/** A deep copy that nobody can change: the store keeps it and hands it out, and neither giver nor reader can spoil it. */
export function frozenCopy<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return Object.freeze(value.map(frozenCopy)) as T;
  const pairs = Object.entries(value).filter(([, item]) => item !== undefined);
  // fromEntries defines keys where assignment would take `__proto__` for the prototype.
  return Object.freeze(Object.fromEntries(pairs.map(([key, item]) => [key, frozenCopy(item)]))) as T;
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
