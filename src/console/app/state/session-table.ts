import { computed, signal } from "@preact/signals";
import { listSessions, type SessionQuery } from "../api/calls.js";
import type { Session } from "../api/types.js";
import { ownerOf, queryFrom, timeOf, wordsOf } from "./filter-texts.js";
import { noteWhere } from "./route.js";
import { MODEL_TIME, milliseconds, tokensOf } from "./usage-sums.js";

/** How a list can be ordered, as the service names it. */
export const ORDERS = {
  "update_time desc": "Newest change",
  update_time: "Oldest change",
  "create_time desc": "Newest session",
  create_time: "Oldest session",
  title: "Title, A to Z",
  "title desc": "Title, Z to A",
} as const;

/** How the page itself orders the sessions that it has read, the largest first. */
export const SIZES = {
  messages: { label: "Most messages", of: ({ messageCount }: Session) => Number(messageCount ?? 0) },
  tokens: { label: "Most tokens", of: ({ usage = {} }: Session) => tokensOf(usage) },
  cost: { label: "Highest cost", of: ({ usage }: Session) => Number(usage?.costs?.[0]?.amount ?? 0) },
  duration: {
    label: `Longest ${MODEL_TIME.toLowerCase()}`,
    of: ({ usage }: Session) => milliseconds(usage?.duration) ?? 0,
  },
} as const;

export type Size = keyof typeof SIZES;
export type Order = keyof typeof ORDERS | Size;

export function isSize(order: string): order is Size {
  return order in SIZES;
}

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
    order: order in ORDERS || isSize(order) ? (order as Order) : ALL.order,
    title: text("title"),
    owner: text("owner"),
    labels: text("labels"),
    since: text("since"),
    until: text("until"),
  };
}

/** The query of an address for a filter; empty when nothing is filtered. */
export function queryOf(filter: TableFilter): string {
  return queryFrom(filter, ALL);
}

/** What the service is asked for. */
export function requestOf({ order, title, owner, labels, since, until }: TableFilter): SessionQuery {
  const words = wordsOf(labels);
  return {
    orderBy: order === ALL.order || isSize(order) ? undefined : order,
    title: title.trim() || undefined,
    ...ownerOf(owner),
    ...(words.length > 0 && { labels: words }),
    updatedSince: timeOf(since),
    updatedUntil: timeOf(until),
  };
}

const PAGE = 100;
const MAX_PAGE = 1000;
/** How many rows are read again by themselves when something changes. */
export const MAX_LIVE = 200;

/** The sessions that match a filter, page by page. */
export class SessionTable {
  readonly filter = signal<TableFilter>(ALL);
  readonly rows = signal<readonly Session[] | undefined>(undefined);
  /** The rows in their order. */
  readonly ordered = computed(() => {
    const { order } = this.filter.value;
    const rows = this.rows.value;
    if (rows === undefined || !isSize(order)) return rows;
    return [...rows].sort((one, other) => SIZES[order].of(other) - SIZES[order].of(one));
  });
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

  /** Reads from the start, as many rows as are shown, or as many as it gets when the page orders them itself. */
  read(): Promise<void> {
    const shown = Math.max(PAGE, this.rows.peek()?.length ?? 0);
    const limit = isSize(this.filter.peek().order) ? MAX_PAGE : Math.min(MAX_PAGE, shown);
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
