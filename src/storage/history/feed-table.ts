import type { Call } from "../../domain/call.js";
import type { SessionRecord } from "./session-record.js";

/**
 * What a session had when it was deleted, or before its owner or labels changed, as digests by `FeedTable.digest`. So
 * the feed keeps none of these texts longer than the session does.
 */
export interface Past {
  /** The digest of the owner; empty where it had none. */
  readonly owner: string;
  /** The digest of each label, as `labelTexts` writes it. */
  readonly labels: readonly string[];
}

/** A living session whose last change has this place. It was made, published or brought back at `madeAt`. */
export interface StateChange {
  readonly kind: "state";
  readonly place: number;
  readonly record: SessionRecord;
  readonly madeAt: number;
  /** When it got this place, by the store's time; absent in stores where that is the update time of the record. */
  readonly placedAtMicros?: number | undefined;
}

/** A session that was deleted (`deleted`), or whose owner or labels changed (`left`). */
export interface Departure {
  readonly kind: "deleted" | "left";
  readonly place: number;
  readonly uid: string;
  readonly sessionId: string;
  readonly past: Past;
}

export type FeedChange = StateChange | Departure;

/** Where a read of the feed goes on. Several changes may have the same place; their order is that of `key`. */
export interface FeedCursor {
  readonly place: number;
  /** Changes at the place up to this key were returned; absent when all were. */
  readonly key?: string | undefined;
}

/** The feed as of one moment. */
export interface FeedEnds {
  /** Names this feed. Places of a feed with another id mean nothing here. */
  readonly feedId: string;
  /** Changes after a place before this one may have been removed. */
  readonly first: number;
  /** The place of the last change. In a store without `late`, no later change gets this place or an earlier one. */
  readonly last: number;
  /** Present in a store with `late`: no change with this place or an earlier one becomes visible any more. */
  readonly final?: number | undefined;
  /** The store's time, in milliseconds, by which appends decide whether they move an update time. */
  readonly nowMs: number;
}

export interface FeedPage extends FeedEnds {
  /** By place. */
  readonly changes: readonly FeedChange[];
  /** Where to go on; null when nothing follows at present. */
  readonly next: FeedCursor | null;
  /** Whether there are changes that cannot be returned yet, because an earlier one may still become visible. */
  readonly isBehind?: boolean | undefined;
}

/** How late changes become visible in a store in which places do not rise in that order. */
export interface LatePlaces {
  /** By how many places such a change lies before the last one, as a rule. `FeedEnds.final` bounds every case. */
  readonly usual: number;
  /** How long after an append its session gets a place, as a rule. */
  readonly placedMs: number;
}

/**
 * The feed of the sessions of one namespace. It keeps no events: each living record has the place of its last change,
 * and rows say what records cannot say any more. Places rise in the order in which changes become visible, whatever any
 * clock says; where they do not, the store has `late`.
 *
 * A record gets a new place in the step that changes it: when it is created, published or replaced by one with another
 * `sessionRevision`, `updateTimeMicros` or `log`, and when an append or `touchRecords` moves its update time. It gets a
 * row when it becomes a tombstone and when its owner or labels change. What is done to tombstones and records that are
 * being restored changes nothing in the feed, nor do `addFork`, `raiseForks`, `addBytes` and `setBytes`.
 */
export interface FeedTable {
  /**
   * For how long appends after a change may leave the place of their session as it is: at most as long as the stored
   * update time, or `placedAtMicros`, differs from the store's clock by no more than this. An append while it differs
   * by more sets the place.
   */
  readonly slackMs: number;

  /** Present where a change may become visible after others with later places. Readers then look back. */
  readonly late?: LatePlaces | undefined;

  /** The id, the ends and the time of the feed. */
  ends(call?: Call): Promise<FeedEnds>;

  /** At most `limit` changes after a cursor. A session is returned at most once as `state`, with its present record. */
  read(after: FeedCursor, limit: number, call?: Call): Promise<FeedPage>;

  /**
   * Living sessions whose update time, or `placedAtMicros`, is at or after this one, each with its last change, by
   * place.
   */
  recent(sinceMicros: number, call?: Call): Promise<readonly StateChange[]>;

  /**
   * Resolves once everything has become visible, or never will, that was being written when this was called. After
   * that, an append that this store's clock dates before the call is visible.
   */
  settle(call?: Call): Promise<void>;

  /** Removes rows that are older than this time by the store's clock. Resolves to how many. */
  prune(beforeMs: number, call?: Call): Promise<number>;

  /** Digests an owner or a label of the session with this uid. */
  digest(uid: string, text: string): string;
}
