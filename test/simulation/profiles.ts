import type { Operation, SimMessage } from "./operations.js";
import type { Random } from "./random.js";

export const SESSION_IDS = ["a", "b", "c"] as const;

type Kind = Operation["op"] | "turn" | "old";

/** What a run does most: each profile goes where one kind of mistake would hurt. */
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
    fork: 8,
    share: 2,
    copy: 7,
    delete: 7,
    create: 8,
    update: 2,
  },
  /** Forks of what is cut, deleted and swept. */
  gc: { append: 1, truncate: 1, fork: 3, copy: 1, delete: 2, list: 1, create: 1 },
  undo: { append: 1, list: 1, revert: 2, restore: 3, fork: 1, session: 1 },
  tail: { append: 3, turn: 1, load: 1, truncate: 2, list: 1, page: 1 },
  /** Sessions that are deleted and made anew. */
  life: { append: 1, truncate: 1, revert: 1, delete: 2, create: 2, list: 1, page: 1, session: 1 },
  /** Messages older than the last one. */
  old: { old: 6, list: 1, page: 1, revert: 1, restore: 1, truncate: 1 },
  copyin: { copy: 3, delete: 1, create: 1, append: 1, truncate: 1, list: 1 },
  seal: { append: 3, list: 1, load: 1, truncate: 1, revert: 1, restore: 2, fork: 1 },
  forks: { fork: 4, truncate: 3, delete: 2, append: 1, create: 1, copy: 1, revert: 1 },
  /** Processes that die in the middle of everything. */
  half: { append: 4, truncate: 2, revert: 1, count: 1, list: 1, fork: 1 },
  batches: { append: 5, turn: 2, list: 5, load: 1, count: 1, get: 1, truncate: 1, revert: 1, fork: 1, page: 1 },
  /** Records replaced without a new log: titles, sources let go, ranges swept. */
  records: { update: 3, session: 1, fork: 2, truncate: 2, append: 1, delete: 1, copy: 1, old: 1 },
} as const satisfies Record<string, Partial<Record<Kind, number>>>;

export type ProfileName = keyof typeof PROFILES;

export const PROFILE_NAMES = Object.keys(PROFILES) as readonly ProfileName[];

/** What a client does next: one operation, or several appends to one session in one turn. */
export type Intent = Operation | { readonly op: "turn"; readonly id: string; readonly appends: readonly Operation[] };

/** Where a client may go on to page; null: it has no page to go on from. */
export type PageStart = Pick<Extract<Operation, { op: "page" }>, "id" | "newestFirst" | "after" | "mid"> | null;

/** Makes up what clients do, by a seed. */
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
        return { op: "append", id: "a", messages, expected: null };
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
      case "fork":
      case "share":
      case "copy":
        return { op: kind, id, to, mid: upTo };
      case "create": {
        const parent = random.chance(0.5) ? random.pick(SESSION_IDS) : null;
        return { op: "create", id, parent, title: random.chance(0.3) ? this.#title() : null };
      }
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
    if (random.chance(0.5)) return { id: this.#newId(), ts, body: "x" };
    return { id: `m${random.int(7)}`, ts, body: random.chance(0.9) ? "x" : "y" };
  }

  #list(id: string, limit: number): Operation {
    const random = this.#random;
    const ancestors = random.chance(0.3);
    const times = random.chance(0.15) ? { since: 1 + random.int(4), until: 3 + random.int(6) } : {};
    return {
      op: "list",
      id,
      newestFirst: random.chance(0.5),
      ancestors,
      offset: random.chance(0.3) ? random.int(3) : 0,
      limit,
      ...(times.since !== undefined && times.since > times.until ? {} : times),
    };
  }

  /** Between `least` and `most` of them, mostly few. */
  #some<T>(least: number, most: number, make: () => T): T[] {
    const length = this.#random.chance(0.6) ? least : least + this.#random.int(most - least + 1);
    return Array.from({ length }, make);
  }

  #sessionId(): string {
    const isNarrow = this.#profile === "seal" || (this.#profile === "batches" && this.#random.chance(0.7));
    return isNarrow ? "a" : this.#random.pick(SESSION_IDS);
  }

  #title(): string {
    return this.#random.pick(["one", "two"]);
  }

  #newId(): string {
    return `n${this.#fresh++}`;
  }
}
