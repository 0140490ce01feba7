import type { ToldState } from "./told-change.js";

/** A session about which something may have to be told although its place stays the same. */
export interface Unsettled {
  readonly place: number;
  /** When it got its place. */
  readonly atMicros: number;
  readonly revision: number;
  readonly messageCount: number;
}

/**
 * The sessions that were changed so recently that appends to them may leave their place as it is. Each is looked at
 * once more when that time is over. Until then, readers that resume begin before the first of them.
 */
export class UnsettledSessions {
  readonly #slackMicros: number;
  /** In the order of places. */
  readonly #sessions = new Map<string, Unsettled>();
  /** Those whose time is that far ahead of the clock that every append gives them a new place at present. */
  readonly #ahead = new Map<string, Unsettled>();

  constructor(slackMs: number) {
    this.#slackMicros = slackMs * 1000;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** The place of the first session; null when there is none. */
  get firstPlace(): number | null {
    for (const { place } of this.#sessions.values()) return place;
    return null;
  }

  get(uid: string): Unsettled | undefined {
    return this.#sessions.get(uid) ?? this.#ahead.get(uid);
  }

  /** Notes the state in which a session was told, at the store's time `nowMs`. */
  note({ place, placedAtMicros, now: { record, session } }: ToldState, nowMs: number): void {
    const { uid, updateTimeMicros } = record;
    const { revision, messageCount } = session;
    const atMicros = placedAtMicros ?? updateTimeMicros;
    this.forget(uid);
    const aheadMicros = atMicros - nowMs * 1000;
    if (aheadMicros < -this.#slackMicros) return;
    const sessions = aheadMicros > this.#slackMicros ? this.#ahead : this.#sessions;
    sessions.set(uid, { place, atMicros, revision, messageCount });
  }

  forget(uid: string): void {
    this.#sessions.delete(uid);
    this.#ahead.delete(uid);
  }

  /** The uids of the sessions that have to be looked at, at the store's time `nowMs`. */
  due(nowMs: number): readonly string[] {
    const isDue = ({ atMicros }: Unsettled) => Math.abs(nowMs * 1000 - atMicros) > this.#slackMicros;
    const isPast = ({ atMicros }: Unsettled) => nowMs * 1000 - atMicros > this.#slackMicros;
    const uids = [...this.#sessions].filter(([, one]) => isDue(one)).map(([uid]) => uid);
    if (this.#ahead.size > 0) uids.push(...[...this.#ahead].filter(([, one]) => isPast(one)).map(([uid]) => uid));
    return uids;
  }
}
