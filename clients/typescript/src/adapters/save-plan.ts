import { Code, ConnectError, type NewMessage, type StoredMessage } from "../index.js";

/** The changes after which a session holds the wanted messages, and those that the caller has not seen. */
export interface SavePlan {
  /** Messages that the caller has dropped. */
  readonly removed: readonly string[];
  /** Whether they are all messages after `keptId`, or all of the session when that is undefined. */
  readonly isTail: boolean;
  readonly keptId: string | undefined;
  /** Messages that keep their place, each with the one that is stored there. */
  readonly kept: readonly { readonly message: NewMessage; readonly stored: StoredMessage }[];
  /** Messages to append, and the position of the first. */
  readonly added: readonly NewMessage[];
  readonly position: number;
}

/**
 * Plans a save. New messages go to the end. What the caller has seen and no longer gives is removed. Messages that it
 * has not seen stay, as do erased ones. `aborted`: unseen messages follow one that is removed or moved, or one that
 * this save was itself to append, because somebody else has saved the same answer.
 */
export function planSave(
  stored: readonly StoredMessage[],
  wanted: readonly NewMessage[],
  seen: ReadonlySet<string>,
): SavePlan {
  const places = new Map(stored.map((message, place) => [idOf(message), place]));
  const given = new Set(wanted.map(idOf));
  const count = countInPlace(wanted, places);
  const rest = wanted.slice(count);
  const last = places.get(idOf(wanted[count - 1])) ?? -1;
  const isUnseen = (message: StoredMessage) => !given.has(idOf(message)) && !seen.has(idOf(message));
  const isDropped = (message: StoredMessage) => !given.has(idOf(message)) && !isUnseen(message) && !isErased(message);
  const isMoved = rest.some((message) => places.has(idOf(message)));
  const removed = stored.filter((message, place) => isDropped(message) || (isMoved && place > last));
  const first = places.get(idOf(removed[0])) ?? stored.length;
  const isRepeated = (message: NewMessage) => !seen.has(idOf(message));
  const repeated = rest.length > 0 ? wanted.slice(0, count).find(isRepeated) : undefined;
  const from = Math.min(first, places.get(idOf(repeated)) ?? stored.length);
  if (stored.slice(from).some(isUnseen)) throw changedMeanwhile();
  return {
    removed: removed.map(idOf),
    isTail: removed.length > 0 && removed.length === stored.length - first,
    keptId: first === 0 ? undefined : idOf(stored[first - 1]),
    kept: wanted.slice(0, count).map((message) => ({ message, stored: stored[places.get(idOf(message)) ?? 0]! })),
    added: rest,
    position: stored.length - removed.length,
  };
}

/** How many of the first wanted messages are stored, in this order. */
function countInPlace(wanted: readonly NewMessage[], places: ReadonlyMap<string, number>): number {
  let last = -1;
  for (const [i, message] of wanted.entries()) {
    const place = places.get(idOf(message));
    if (place === undefined || place < last) return i;
    last = place;
  }
  return wanted.length;
}

export function isErased({ parts }: StoredMessage): boolean {
  return parts.some(({ type }) => type === "erased");
}

export function idOf(message: NewMessage | StoredMessage | undefined): string {
  return message?.info?.id ?? "";
}

export function changedMeanwhile(): ConnectError {
  return new ConnectError("Another program has changed the session since it was loaded", Code.Aborted);
}
