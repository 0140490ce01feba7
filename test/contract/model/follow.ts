import { expect } from "vitest";
import type { ChatMessage } from "../../../src/domain/chat-message.js";
import type { FollowEvent, FollowPosition } from "../../../src/domain/page.js";
import type { StorageOperations } from "../../../src/storage/storage-manager.js";
import type { NaiveStorageProvider } from "./naive-storage-provider.js";
import type { Operation } from "./operations.js";

/** A message as a follower holds it. It has no position, because edits before it change that. */
interface Held {
  readonly id: string;
  readonly text: string;
}

interface Follower {
  readonly at: FollowPosition;
  readonly held: readonly Held[];
}

interface FollowerSlot {
  readonly session: string;
  readonly uid: number;
  readonly follower: Follower;
}

/** The followers of a run, each in a slot of its own and compared with the history of the naive model. */
export class FollowerSlots {
  readonly #naive: NaiveStorageProvider;
  readonly #slots = new Map<number, FollowerSlot>();

  constructor(naive: NaiveStorageProvider) {
    this.#naive = naive;
  }

  /** Brings the slot's follower up to date, or begins one, and then disconnects it. */
  async follow(
    provider: StorageOperations,
    { slot, session }: Extract<Operation, { readonly op: "follow" }>,
  ): Promise<void> {
    const begun = this.#slots.get(slot);
    const sessionId = begun?.session ?? session;
    const uid = this.#naive.uidOf(sessionId);
    this.#slots.delete(slot);
    if (uid === undefined || (begun !== undefined && begun.uid !== uid)) {
      const refused = provider.followMessages(sessionId, begun?.follower.at ?? 0);
      await expect(refused).rejects.toMatchObject({ code: uid === undefined ? "not_found" : "invalid_argument" });
      return;
    }
    const history = (await this.#naive.getSessionMessages(sessionId)).map(heldOf);
    if (begun === undefined && history.length === 0) return;
    const follower = await follow(provider, sessionId, begun?.follower, history);
    this.#slots.set(slot, { session: sessionId, uid, follower });
  }
}

function heldOf({ id, role, timestampMicros, parts, originSessionId }: ChatMessage): Held {
  return { id, text: JSON.stringify([role, timestampMicros, parts, originSessionId]) };
}

/**
 * Brings a follower up to date with the history, from the place where it stopped or from the beginning. Fails when an
 * event does not fit what the follower holds, or when the follower holds anything but the front of the history after an
 * event.
 */
async function follow(
  provider: StorageOperations,
  sessionId: string,
  begun: Follower | undefined,
  history: readonly Held[],
): Promise<Follower> {
  const gone = new AbortController();
  const held = [...(begun?.held ?? [])];
  let at = begun?.at;
  const stream = await provider.followMessages(sessionId, at ?? 0, { signal: gone.signal });
  const events = stream[Symbol.asyncIterator]();
  try {
    while (at === undefined || !isSame(held, history)) {
      const next = await events.next();
      if (next.done) throw new Error(`The events have ended, but the follower has only ${idsOf(held)}`);
      at = next.value.at;
      tell(held, next.value);
      expect(held, next.value.kind).toEqual(history.slice(0, held.length));
    }
  } finally {
    gone.abort();
    await events.return?.();
  }
  return { at, held };
}

function tell(held: Held[], event: FollowEvent): void {
  switch (event.kind) {
    case "heartbeat":
      throw new Error(`No further event came, but the follower has only ${idsOf(held)}`);
    case "truncated":
      expect(event.messageCount).toBeLessThan(held.length);
      held.length = event.messageCount;
      break;
    case "updated": {
      const { id, position = -1 } = event.message;
      expect(held[position]?.id).toBe(id);
      held[position] = heldOf(event.message);
      break;
    }
    case "deleted":
      expect(held.splice(event.position, 1)[0]?.id).toBe(event.messageId);
      break;
    case "draft":
    case "draft_extended":
    case "draft_ended":
      break;
    case "appended":
      expect(event.message.position).toBe(held.length);
      held.push(heldOf(event.message));
  }
  expect(event.at.position).toBe(held.length);
}

function isSame(a: readonly Held[], b: readonly Held[]): boolean {
  return a.length === b.length && a.every(({ id, text }, i) => id === b[i]?.id && text === b[i].text);
}

function idsOf(held: readonly Held[]): string {
  return held.map(({ id }) => id).join();
}
