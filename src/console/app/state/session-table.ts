import { computed, signal } from "@preact/signals";
import { listSessions, type SessionQuery } from "../api/calls.js";
import type { Session } from "../api/types.js";
import { noteWhere } from "./route.js";

/** How a list can be ordered, as the service names it. */
export const ORDERS = {
  "update_time desc": "Newest change",
  update_time: "Oldest change",
  "create_time desc": "Newest session",
  create_time: "Oldest session",
  title: "Title, A to Z",
  "title desc": "Title, Z to A",
} as const;

export type Order = keyof typeof ORDERS;

/** What the table shows. Texts are as they were typed. */
export interface TableFilter {
  readonly order: Order;
  readonly title: string;
  readonly owner: string;
  /** Labels as `key=value`, separated by spaces. */
  readonly labels: string;
  /** Local times as a field of a form has them; empty when there is no limit. */
  readonly since: string;
  readonly until: string;
}

export const ALL: TableFilter = { order: "update_time desc", title: "", owner: "", labels: "", since: "", until: "" };

/** Reads a filter from the query of an address. */
export function filterOf(query: string): TableFilter {
  const given = new URLSearchParams(query);
  const order = given.get("order") ?? "";
  const text = (name: string) => given.get(name) ?? "";
  return {
    order: order in ORDERS ? (order as Order) : ALL.order,
    title: text("title"),
    owner: text("owner"),
    labels: text("labels"),
    since: text("since"),
    until: text("until"),
  };
}

/** The query of an address for a filter; empty when nothing is filtered. */
export function queryOf(filter: TableFilter): string {
  const set = Object.entries(filter).filter(([name, value]) => value !== ALL[name as keyof TableFilter]);
  return new URLSearchParams(set.map(([name, value]) => [name, value])).toString();
}

/** What the service is asked for. `""` as an owner, in quotation marks, means sessions without one. */
export function requestOf({ order, title, owner, labels, since, until }: TableFilter): SessionQuery {
  const words = wordsOf(labels);
  const name = owner.trim();
  return {
    orderBy: order === ALL.order ? undefined : order,
    title: title.trim() || undefined,
    ...(name !== "" && { owner: name === '""' ? "" : name }),
    ...(words.length > 0 && { labels: words }),
    updatedSince: timeOf(since),
    updatedUntil: timeOf(until),
  };
}

export function wordsOf(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}

/** A time of a form's field, as the service takes it; undefined when there is none. */
export function timeOf(local: string): string | undefined {
  const at = Date.parse(local);
  return Number.isNaN(at) ? undefined : new Date(at).toISOString();
}

const PAGE = 100;
/** How many rows are read again by themselves when something changes. */
export const MAX_LIVE = 200;

/** The sessions that match a filter, page by page. */
export class SessionTable {
  readonly filter = signal<TableFilter>(ALL);
  readonly rows = signal<readonly Session[] | undefined>(undefined);
  readonly next = signal("");
  readonly total = signal<{ readonly size: number; readonly isEstimate: boolean } | undefined>(undefined);
  readonly error = signal<unknown>(undefined);
  readonly isReading = signal(false);
  readonly chosen = signal<ReadonlySet<string>>(new Set());
  /** Whether all sessions that match are chosen, including those that have not been read. */
  readonly isAllChosen = signal(false);
  readonly chosenCount = computed(() =>
    this.isAllChosen.value ? (this.total.value?.size ?? this.rows.value?.length ?? 0) : this.chosen.value.size,
  );
  #running = new AbortController();

  begin(filter: TableFilter): void {
    this.filter.value = filter;
    noteWhere({ view: "sessions", query: queryOf(filter) });
    this.rows.value = undefined;
    this.choose([]);
    void this.read();
  }

  stop(): void {
    this.#running.abort();
  }

  /** Reads from the start, as many rows as are shown. */
  read(): Promise<void> {
    const limit = Math.min(1000, Math.max(PAGE, this.rows.peek()?.length ?? 0));
    return this.#read(limit, "");
  }

  readMore(): Promise<void> {
    return this.#read(PAGE, this.next.peek());
  }

  choose(sessionIds: Iterable<string>): void {
    this.chosen.value = new Set(sessionIds);
    this.isAllChosen.value = false;
  }

  toggle(sessionId: string): void {
    const chosen = new Set(this.chosen.peek());
    if (!chosen.delete(sessionId)) chosen.add(sessionId);
    this.choose(chosen);
  }

  async #read(limit: number, pageToken: string): Promise<void> {
    this.stop();
    this.#running = new AbortController();
    const { signal } = this.#running;
    this.isReading.value = true;
    try {
      const query = { ...requestOf(this.filter.peek()), limit, pageToken, isFull: true, withTotal: true };
      const page = await listSessions(query, signal);
      if (signal.aborted) return;
      this.rows.value = pageToken === "" ? page.sessions : [...(this.rows.peek() ?? []), ...page.sessions];
      this.next.value = page.nextPageToken;
      const { totalSize, totalIsEstimate = false } = page;
      this.total.value = totalSize === undefined ? undefined : { size: Number(totalSize), isEstimate: totalIsEstimate };
      this.error.value = undefined;
    } catch (error) {
      if (!signal.aborted) this.error.value = error;
    } finally {
      if (!signal.aborted) this.isReading.value = false;
    }
  }
}
