import { setImmediate } from "node:timers/promises";
import type { DomainError } from "../../../domain/errors.js";
import type { HistoryContext } from "../heads.js";
import type { FeedCursor, FeedEnds, FeedTable } from "../log-store.js";
import { type FeedPosition, FeedPositions, mustListAnew } from "./feed-position.js";
import { FeedQueue } from "./feed-queue.js";
import { LateChanges } from "./late-changes.js";
import { livingStates, toldChanges } from "./session-states.js";
import type { ToldChange } from "./told-change.js";
import { UnsettledSessions } from "./unsettled.js";

/** How many changes are read at once. */
export const CHANGES_AT_ONCE = 50;
/** Safety poll for notifications that were missed. */
const SAFETY_POLL_MS = 5000;
/** The least and the most time between two looks, in which changes gather. */
const GATHER_MS = 50;
const MOST_GATHER_MS = 5000;
/** About what a change costs, in milliseconds, and what each reader adds. */
const CHANGE_MS = 0.06;
const READER_MS = 0.01;
/** Which part of the time looks may take, so that appends cost hardly more while many read. */
const LOOKS_SHARE = 0.01;
/** How often sessions that have expired are looked for. */
const EXPIRY_MS = 2000;

/** Up to which place everything was told when a read goes on at this cursor. */
export function toldUpTo({ place, key }: FeedCursor): number {
  return key === undefined ? place : place - 1;
}

/** Up to which place everything is told with each of the changes of a page. */
export function placesAfter(changes: readonly ToldChange[], next: FeedCursor | null): readonly number[] {
  return changes.map(({ place }, i) => {
    const following = changes[i + 1]?.place ?? (next?.key === undefined ? undefined : next.place);
    return following === place ? place - 1 : place;
  });
}

/**
 * Reads the feed of a namespace once for all its readers in this process. It looks when it is woken, and also from time
 * to time, less often while nothing happens. The file is long because looking, telling and settling share one state.
 */
export class FeedTail {
  readonly #context: HistoryContext;
  readonly #table: FeedTable;
  readonly #endExpired: () => Promise<void>;
  readonly #onUnused: () => void;
  readonly #pollMs: { readonly first: number; readonly most: number };
  readonly #queues = new Set<FeedQueue>();
  readonly #unsettled: UnsettledSessions;
  readonly #began: Promise<void>;
  #positions: FeedPositions | undefined;
  #ends: FeedEnds | undefined;
  #cursor: FeedCursor = { place: 0 };
  #holds = 0;
  #error: DomainError | undefined;
  #isWoken = false;
  /** How many sessions the last look has read. */
  #read = 0;
  readonly #ending = new AbortController();
  #wake: (() => void) | undefined;
  #expiresAtMs: number;
  #expiring: Promise<void> | undefined;
  /** Whether the last look has left something out that was not final yet. */
  #isBehind = false;
  /** Absent where no change becomes visible late. */
  #late: LateChanges | undefined;
  #wokenAtMs = Number.NEGATIVE_INFINITY;

  constructor(
    context: HistoryContext,
    table: FeedTable,
    hooks: {
      readonly hasNotifications: boolean;
      readonly endExpired: () => Promise<void>;
      readonly onUnused: () => void;
    },
  ) {
    this.#context = context;
    this.#table = table;
    this.#endExpired = hooks.endExpired;
    this.#onUnused = hooks.onUnused;
    this.#pollMs = hooks.hasNotifications ? { first: SAFETY_POLL_MS, most: SAFETY_POLL_MS } : context.options.pollMs;
    this.#unsettled = new UnsettledSessions(table.slackMs);
    this.#expiresAtMs = context.options.clockMs();
    this.#began = this.#begin();
    // Whoever waits for it learns of the failure.
    this.#began.catch(() => {});
  }

  /** Keeps the tail running until it is released. */
  hold(): { release(): void } {
    this.#holds++;
    let isHeld = true;
    return {
      release: () => {
        if (isHeld && --this.#holds === 0) {
          this.#ending.abort();
          this.#onUnused();
          this.wake();
        }
        isHeld = false;
      },
    };
  }

  /** Resolves once the tail reads from the present end of the feed. */
  began(): Promise<void> {
    return this.#began;
  }

  /** Up to where sessions were told in a state that only a change with a later place can change. */
  get settled(): FeedPosition {
    const { nowMs: timeMs } = this.#ends as FeedEnds;
    const first = this.#unsettled.firstPlace;
    const told = this.#late?.final ?? toldUpTo(this.#cursor);
    // Whoever resumes has not heard yet of appends that left a place as it was.
    // Rule: settled-before-untold.
    const place = Math.min(told, first === null ? Number.POSITIVE_INFINITY : first - 1);
    return { place: Math.max(0, place), timeMs };
  }

  get positions(): FeedPositions {
    return this.#positions as FeedPositions;
  }

  /** Throws unless a page or the ends belong to the feed that this tail reads. */
  checkFeed({ feedId }: FeedEnds): void {
    // Places of another feed mean nothing here.
    if (feedId !== this.#ends?.feedId) throw mustListAnew("The feed was begun anew, because the store was replaced");
  }

  /** Returns a queue that gets every change from now on. */
  attach(): FeedQueue {
    const queue = new FeedQueue(this.#context.options);
    if (this.#error) queue.fail(this.#error);
    else this.#queues.add(queue);
    return queue;
  }

  detach(queue: FeedQueue): void {
    this.#queues.delete(queue);
  }

  wake(): void {
    this.#isWoken = true;
    this.#wokenAtMs = this.#context.options.clockMs();
    this.#wake?.();
  }

  /** Ends all readers. */
  end(error: DomainError): void {
    this.#error ??= error;
    this.#ending.abort();
    for (const queue of this.#queues) queue.fail(error);
    this.#queues.clear();
    this.#onUnused();
    this.wake();
  }

  /** Begins at the present end. Sessions that were changed shortly before are noted, because they are not settled. */
  async #begin(): Promise<void> {
    this.#ends = await this.#table.ends();
    const { feedId, last, final = last, nowMs } = this.#ends;
    this.#positions = new FeedPositions(feedId);
    this.#cursor = { place: last };
    const recent = await this.#table.recent((nowMs - 2 * this.#table.slackMs) * 1000);
    for (const told of await toldChanges(this.#context, recent)) this.#note(told, nowMs);
    const { late } = this.#table;
    if (late) {
      this.#late = new LateChanges(late, final);
      // What is visible by now is not told to anybody.
      await this.#look();
    }
    void this.#run();
  }

  async #run(): Promise<void> {
    const { pause, onAnomaly } = this.#context.options;
    let pollMs = this.#pollMs.first;
    while (this.#holds > 0 && !this.#error) {
      this.#isWoken = false;
      this.#read = 0;
      try {
        pollMs = (await this.#look()) ? this.#pollMs.first : Math.min(pollMs * 1.5, this.#pollMs.most);
      } catch (error) {
        onAnomaly("The feed of sessions cannot be read now", error);
      }
      if (this.#holds === 0 || this.#error) return;
      await pause(this.#gatherMs, this.#ending.signal);
      if (!this.#isWoken && !this.#isBehind) await this.#sleep(Math.max(0, this.#waitMs(pollMs) - GATHER_MS));
    }
  }

  #waitMs(pollMs: number): number {
    const { late, slackMs } = this.#table;
    const waitMs = this.#unsettled.size > 0 ? Math.min(pollMs, slackMs / 2) : pollMs;
    if (late === undefined) return waitMs;
    // The sessions that were written may not have their places yet.
    const isPlacing = this.#context.options.clockMs() - this.#wokenAtMs < 2 * late.placedMs;
    return isPlacing ? Math.min(waitMs, late.placedMs / 2) : waitMs;
  }

  /** How long to wait after a look. While much changes, each session is told less often, and in its newest state. */
  get #gatherMs(): number {
    const lookMs = this.#read * (CHANGE_MS + this.#queues.size * READER_MS);
    return Math.min(MOST_GATHER_MS, Math.max(GATHER_MS, lookMs / LOOKS_SHARE));
  }

  /** Tells what is new. Resolves to whether something was. */
  async #look(): Promise<boolean> {
    this.#lookForExpired();
    let hasNews = false;
    let final: number | undefined;
    const { clockMs } = this.#context.options;
    this.#cursor = this.#late?.begin(clockMs()) ?? this.#cursor;
    for (;;) {
      const page = await this.#table.read(this.#cursor, CHANGES_AT_ONCE);
      this.checkFeedOrEnd(page);
      final ??= page.final ?? page.last;
      const since = toldUpTo(this.#cursor);
      const changes = page.changes.filter((change) => this.#late?.isNew(change) ?? true);
      const told = await toldChanges(this.#context, changes);
      this.#read += page.changes.length;
      this.#ends = page;
      this.#cursor = page.next ?? { place: Math.max(since, page.last) };
      for (const change of told) this.#note(change, page.nowMs);
      const places = placesAfter(told, page.next);
      for (const [i, change] of told.entries()) this.#tell(change, this.#late?.tell(change) ?? since, places[i]);
      hasNews ||= told.length > 0;
      if (this.#error) return true;
      if (page.next === null) {
        this.#late?.end(final, clockMs());
        this.#isBehind = page.isBehind === true;
        await this.#settle(page);
        return hasNews;
      }
      // Appends and readers go on between two pages.
      await setImmediate();
    }
  }

  /** A store that was replaced ends all readers, who then learn from their tokens that they have to list anew. */
  checkFeedOrEnd(ends: FeedEnds): void {
    try {
      this.checkFeed(ends);
    } catch (error) {
      this.end(error as DomainError);
      throw error;
    }
  }

  #note(change: ToldChange, nowMs: number): void {
    if (change.kind === "state") this.#unsettled.note(change, nowMs);
    else if (change.kind === "deleted") this.#unsettled.forget(change.uid);
  }

  /** Tells the sessions whose appends may have left their places as they were, if there were any. */
  async #settle({ nowMs }: FeedEnds): Promise<void> {
    const due = this.#unsettled.due(nowMs);
    if (due.length === 0) return;
    this.#read += due.length;
    // An append that was dated before may only now become visible.
    await this.#table.settle();
    for (let start = 0; start < due.length; start += CHANGES_AT_ONCE) {
      const uids = due.slice(start, start + CHANGES_AT_ONCE);
      const states = await livingStates(this.#context, uids);
      for (const uid of uids) {
        const before = this.#unsettled.get(uid);
        const now = states.get(uid);
        this.#unsettled.forget(uid);
        if (before === undefined || now === undefined) continue;
        const { revision, messageCount } = now.session;
        // It will be told with its new place.
        if (revision === before.revision && messageCount === before.messageCount) continue;
        this.#tell({ kind: "state", place: before.place, madeAt: 0, now }, before.place);
      }
    }
  }

  /** `place` is up to where everything is told with this change. */
  #tell(change: ToldChange, since: number, place = Number.POSITIVE_INFINITY): void {
    if (this.#queues.size === 0) return;
    const { settled } = this;
    const at = { ...settled, place: Math.min(settled.place, place) };
    for (const queue of this.#queues) queue.push({ change, since, at });
  }

  /** Deletes the sessions that have expired, as a sweep does, so that the feed tells of them. */
  #lookForExpired(): void {
    const { clockMs, onAnomaly } = this.#context.options;
    if (this.#expiring || clockMs() < this.#expiresAtMs) return;
    this.#expiring = this.#endExpired()
      .catch((error: unknown) => onAnomaly("Sessions that have expired cannot be deleted now", error))
      .finally(() => {
        this.#expiring = undefined;
        this.#expiresAtMs = clockMs() + EXPIRY_MS;
      });
  }

  async #sleep(ms: number): Promise<void> {
    const waking = new AbortController();
    this.#wake = () => waking.abort();
    await this.#context.options.pause(ms, waking.signal);
    this.#wake = undefined;
  }
}
