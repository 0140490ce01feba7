import { FUTURE_MICROS } from "./model.js";
import type { Operation, SimMessage } from "./operations.js";
import type { Random } from "./random.js";

/** The time by the clocks of most processes, in microseconds. */
export const NOW_MICROS = 5;

/** A time that is not before any message of a run about lists. */
const LAST_TIME = 9;

export const SESSION_IDS = ["a", "b", "c"] as const;

type Kind = Operation["op"] | "turn" | "old";

/** How often a run performs each operation. Each profile aims at one kind of mistake. */
const PROFILES = {
  mixed: {
    append: 26,
    turn: 4,
    list: 8,
    page: 4,
    count: 4,
    session: 3,
    load: 3,
    get: 3,
    truncate: 9,
    revert: 6,
    restore: 5,
    updateMessage: 6,
    deleteMessage: 4,
    fork: 8,
    share: 2,
    copy: 7,
    delete: 7,
    create: 8,
    update: 2,
  },
  /** Forks of sessions that are truncated, deleted and swept. */
  gc: { append: 1, truncate: 1, fork: 3, copy: 1, delete: 2, list: 1, create: 1 },
  undo: { append: 1, list: 1, revert: 2, restore: 3, fork: 1, session: 1 },
  tail: { append: 3, turn: 1, load: 1, truncate: 2, list: 1, page: 1 },
  /** Sessions that are deleted and created again. */
  life: { append: 1, truncate: 1, revert: 1, delete: 2, create: 2, list: 1, page: 1, session: 1 },
  /** Messages older than the last one. */
  old: { old: 6, list: 1, page: 1, revert: 1, restore: 1, truncate: 1 },
  /** Single messages that are updated or deleted. */
  edits: {
    updateMessage: 8,
    deleteMessage: 4,
    append: 4,
    old: 1,
    list: 2,
    page: 2,
    get: 1,
    session: 1,
    revert: 1,
    restore: 1,
    fork: 2,
    copy: 1,
  },
  copyin: { copy: 3, delete: 1, create: 1, append: 1, truncate: 1, list: 1 },
  seal: { append: 3, list: 1, load: 1, truncate: 1, revert: 1, restore: 2, fork: 1 },
  forks: { fork: 4, truncate: 3, delete: 2, append: 1, create: 1, copy: 1, revert: 1 },
  /** Processes that die in the middle of everything. */
  half: { append: 4, truncate: 2, revert: 1, count: 1, list: 1, fork: 1 },
  batches: { append: 5, turn: 2, list: 5, load: 1, count: 1, get: 1, truncate: 1, revert: 1, fork: 1, page: 1 },
  /** Records that are replaced without a new log: for a new title, a released source or a swept range. */
  records: { update: 3, session: 1, fork: 2, truncate: 2, append: 1, delete: 1, copy: 1, old: 1 },
  /** Sessions whose creation is answered so late that others have changed them already. */
  births: { create: 2, fork: 3, append: 6, truncate: 2, delete: 1 },
  /** Clocks that stand still, jump and drift. */
  clocks: { append: 8, truncate: 3, delete: 2, create: 2, fork: 2, copy: 1, old: 2, revert: 1, list: 1 },
  /** Forks that are sent twice, with ids that others take and give up. */
  resent: { fork: 4, create: 3, delete: 4, list: 1 },
  /** Readers of forks that release deleted sources. */
  grace: { get: 3, list: 3, truncate: 1, revert: 1, old: 4, append: 1 },
  /** Lists of sessions, and changes that move them to the front. */
  lists: { append: 6, fork: 1, create: 1, truncate: 1, update: 1 },
  /** Callers that are bound to owners, while the owners change. No random seed picks it. */
  owners: {
    append: 8,
    turn: 3,
    list: 3,
    load: 1,
    get: 1,
    updateMessage: 2,
    deleteMessage: 1,
    truncate: 1,
    fork: 2,
    copy: 2,
    create: 2,
    delete: 1,
    give: 5,
  },
  /** Timestamps of the whole range that the API allows. */
  times: { append: 6, list: 3, load: 1, get: 1, truncate: 1, revert: 1, copy: 2, fork: 1 },
} as const satisfies Record<string, Partial<Record<Kind, number>>>;

export type ProfileName = keyof typeof PROFILES;

/** The profiles that random seeds pick. */
export const PROFILE_NAMES = (Object.keys(PROFILES) as ProfileName[]).filter((name) => name !== "owners");

export const OWNERS = ["x", "y"] as const;

/** Profiles that mostly use one session. */
const NARROW: ReadonlySet<ProfileName> = new Set(["batches"]);

/** Profiles about one fork and its further life. */
const ON_FORK: ReadonlySet<ProfileName> = new Set(["births", "clocks", "resent", "grace"]);

/** What a client does next: one operation, or several appends to one session in one turn. */
export type Intent = Operation | { readonly op: "turn"; readonly id: string; readonly appends: readonly Operation[] };

/** Where a client may continue a list. Null: it has no list to continue. */
export type PageStart = Pick<Extract<Operation, { op: "page" }>, "id" | "newestFirst" | "after" | "mid"> | null;

/** Chooses what clients do, by a seed. */
export class Script {
  readonly #random: Random;
  readonly #profile: ProfileName;
  readonly #kinds: readonly Kind[];
  #fresh = 0;

  constructor(random: Random, profile: ProfileName) {
    this.#random = random;
    this.#profile = profile;
    this.#kinds = Object.entries(PROFILES[profile]).flatMap(([kind, weight]) =>
      Array.from({ length: weight }, () => kind as Kind),
    );
  }

  next(pageStart: PageStart, revision: number | null): Intent {
    const intent = this.#intent(pageStart, revision);
    if (this.#profile !== "owners") return intent;
    return intent.op === "turn"
      ? { ...intent, appends: intent.appends.map((append) => this.#byOwner(append)) }
      : this.#byOwner(intent);
  }

  /** The same by a caller that may be bound to an owner. */
  #byOwner(operation: Operation): Operation {
    const as = operation.op !== "give" && this.#random.chance(0.7) ? this.#random.pick(OWNERS) : undefined;
    // Ancestors are not looked at in the same moment as the session.
    return operation.op === "list" ? { ...operation, as, ancestors: false } : { ...operation, as };
  }

  #intent(pageStart: PageStart, revision: number | null): Intent {
    const kind = this.#random.pick(this.#kinds);
    const id = this.#sessionId();
    if (kind === "turn") return { op: "turn", id, appends: this.#some(2, 3, () => this.#append(id, 2)) };
    if (kind === "page")
      return pageStart ? { op: "page", limit: this.#random.pick([1, 2, 100]), ...pageStart } : this.#list(id, 1);
    return this.#operation(kind, id, revision);
  }

  #operation(kind: Exclude<Kind, "turn" | "page">, id: string, revision: number | null): Operation {
    const random = this.#random;
    const mid = `m${random.int(this.#profile === "mixed" ? 7 : 3)}`;
    const upTo = random.chance(0.5) ? mid : null;
    const to = random.pick(SESSION_IDS.filter((other) => other !== id));
    switch (kind) {
      case "append":
        return this.#append(id, 3);
      case "old": {
        const messages = [{ id: this.#newId(), ts: 1 + random.int(6), body: "x" }];
        return { op: "append", id: ON_FORK.has(this.#profile) ? "b" : "a", messages, expected: null };
      }
      case "list":
        return this.#list(id, random.pick([1, 2, 100]));
      case "load":
        return { op: "load", id, limit: random.pick([1, 2, 100]) };
      case "get":
        return { op: "get", id, mid };
      case "truncate":
      case "revert":
        return { op: kind, id, mid };
      case "updateMessage":
      case "deleteMessage": {
        const expected = random.chance(0.3) ? revision : null;
        if (kind === "deleteMessage") return { op: kind, id, mid, expected };
        return { op: kind, id, mid, body: random.pick(["x", "y", "z"]), expected };
      }
      case "fork":
      case "share":
        if (ON_FORK.has(this.#profile)) return { op: kind, id: "a", to: random.pick(["b", "b", "c"]), mid: upTo };
        return { op: kind, id, to, mid: upTo };
      case "copy":
        return { op: kind, id, to, mid: upTo };
      case "create": {
        const parent = random.chance(0.5) ? random.pick(SESSION_IDS) : null;
        return { op: "create", id, parent, title: random.chance(0.3) ? this.#title() : null };
      }
      case "give":
        return { op: kind, id, owner: random.pick(OWNERS) };
      case "update":
        return { op: "update", id, title: this.#title(), expected: random.chance(0.5) ? revision : null };
      default:
        return { op: kind, id };
    }
  }

  #append(id: string, most: number): Operation {
    const random = this.#random;
    const expected = random.chance(0.15) ? random.int(6) : null;
    const least = this.#profile === "batches" ? 2 : 1;
    return { op: "append", id, messages: this.#some(least, most, () => this.#message()), expected };
  }

  #message(): SimMessage {
    const random = this.#random;
    const isNew = this.#profile === "batches" && random.chance(0.7);
    if (isNew) return { id: this.#newId(), ts: null, body: "x" };
    const ts = random.chance(0.6) ? null : 1 + random.int(6);
    if (this.#profile === "lists") return { id: this.#newId(), ts: LAST_TIME, body: "x" };
    if (this.#profile === "times" && ts !== null) return { id: this.#newId(), ts: this.#anyTime(), body: "x" };
    if (random.chance(0.5)) return { id: this.#newId(), ts, body: "x" };
    return { id: `m${random.int(7)}`, ts, body: random.chance(0.9) ? "x" : "y" };
  }

  #list(id: string, limit: number): Operation {
    const random = this.#random;
    const ancestors = random.chance(0.3);
    const times = this.#times();
    return {
      op: "list",
      id,
      newestFirst: random.chance(0.5),
      ancestors,
      offset: random.chance(0.3) ? random.int(3) : 0,
      limit,
      ...((times.since ?? 0) > (times.until ?? 0) ? {} : times),
    };
  }

  #times(): { since?: number; until?: number } {
    const random = this.#random;
    if (this.#profile === "times" && random.chance(0.5)) return { since: this.#anyTime(), until: this.#anyTime() };
    return random.chance(this.#profile === "grace" ? 0.6 : 0.15)
      ? { since: 1 + random.int(4), until: 3 + random.int(6) }
      : {};
  }

  /** Before 1970 and after it, at the ends of the range, and anywhere within. */
  #anyTime(): number {
    const random = this.#random;
    const [least, most] = [Number.MIN_SAFE_INTEGER, NOW_MICROS + FUTURE_MICROS];
    const near = random.int(10) - 5;
    return random.pick([near, near, least, least + random.int(3), most + near, Math.floor(least * random.next())]);
  }

  /** Makes between `least` and `most` of them, mostly few. */
  #some<T>(least: number, most: number, make: () => T): T[] {
    const length = this.#random.chance(0.6) ? least : least + this.#random.int(most - least + 1);
    return Array.from({ length }, make);
  }

  #sessionId(): string {
    const random = this.#random;
    if (ON_FORK.has(this.#profile) && random.chance(0.7)) return "b";
    const isNarrow = this.#profile === "seal" || (NARROW.has(this.#profile) && random.chance(0.7));
    return isNarrow ? "a" : random.pick(SESSION_IDS);
  }

  #title(): string {
    return this.#random.pick(["one", "two"]);
  }

  #newId(): string {
    return `n${this.#fresh++}`;
  }
}
