import type { ChangedSession, FeedEvent } from "../../../domain/feed.js";
import { labelTexts } from "../../../domain/labels.js";
import type { Departure, FeedTable, Past, SessionRecord, StateChange } from "../log-store.js";

/** A session in a state that really existed. */
export interface SessionState {
  readonly record: SessionRecord;
  readonly session: ChangedSession;
}

/** A living session as it is told. */
export interface ToldState extends Omit<StateChange, "record"> {
  readonly now: SessionState;
}

/** A change as it is told, once for all readers. */
export type ToldChange =
  | ToldState
  /** `now` is null when the session is gone. */
  | (Departure & { readonly now: SessionState | null });

/** Whose sessions a reader hears of, and which. */
export interface Selection {
  /** Empty for sessions without an owner; absent for those of all. */
  readonly owner: string | undefined;
  readonly labels: readonly string[];
  /** Whether the reader may see no sessions but those of `owner`. */
  readonly isBound: boolean;
}

/** An event without the token that resumes after it. */
export type ToldEvent =
  | { readonly kind: "created" | "changed"; readonly session: ChangedSession }
  | { readonly kind: "deleted"; readonly sessionId: string };

/**
 * What a reader with this selection hears of a change, if it was told everything up to the place `since`; null for
 * nothing. It hears of a session that its selection holds now or held before the change.
 */
export function eventFor(
  selection: Selection,
  change: ToldChange,
  since: number,
  digest: FeedTable["digest"],
): ToldEvent | null {
  const { now } = change;
  if (change.kind === "state") {
    if (!holds(selection, change.now.record)) return null;
    return { kind: change.madeAt > since ? "created" : "changed", session: change.now.session };
  }
  if (now !== null && holds(selection, now.record)) return null;
  // Rule: heard-before-or-after.
  if (!held(selection, change.uid, change.past, digest)) return null;
  const isSeen = now !== null && (!selection.isBound || (now.record.owner ?? "") === selection.owner);
  return isSeen ? { kind: "changed", session: now.session } : { kind: "deleted", sessionId: change.sessionId };
}

function holds({ owner, labels }: Selection, record: SessionRecord): boolean {
  if (owner !== undefined && owner !== (record.owner ?? "")) return false;
  if (labels.length === 0) return true;
  const texts = labelTexts(record.labels);
  return labels.every((label) => texts.includes(label));
}

function held({ owner, labels }: Selection, uid: string, past: Past, digest: FeedTable["digest"]): boolean {
  if (owner !== undefined && past.owner !== (owner === "" ? "" : digest(uid, owner))) return false;
  return labels.every((label) => past.labels.includes(digest(uid, label)));
}

/** The same event with its token, made once for each token, because many readers get the same event. */
export class EventsWithTokens {
  readonly #made = new WeakMap<ChangedSession | ToldChange, FeedEvent[]>();

  of(change: ToldChange, event: ToldEvent, at: string): FeedEvent {
    const key = event.kind === "deleted" ? change : event.session;
    const made = this.#made.get(key) ?? [];
    const same = made.find((one) => one.kind === event.kind && one.at === at);
    if (same) return same;
    const fresh: FeedEvent = { ...event, at };
    made.push(fresh);
    if (made.length === 1) this.#made.set(key, made);
    return fresh;
  }
}
