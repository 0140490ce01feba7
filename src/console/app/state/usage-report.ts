import { signal } from "@preact/signals";
import type { UsageRow } from "../api/types.js";
import { sumUsage, type UsageQuery } from "../api/usage.js";
import { ownerOf, queryFrom, timeOf, wordsOf } from "./filter-texts.js";
import { noteWhere } from "./route.js";

/** What the page of usage shows. Texts are as they were typed. */
export interface UsageFilter {
  /** Local times as a field of a form has them. */
  readonly since: string;
  readonly until: string;
  readonly owner: string;
  readonly labels: string;
  readonly model: string;
  /** What the last table lists: `session`, `owner`, `provider` or `label:KEY`. */
  readonly by: string;
}

/** Reads a filter from the query of an address. */
export function usageFilterOf(query: string, since: string): UsageFilter {
  const given = new URLSearchParams(query);
  const text = (name: string) => given.get(name) ?? "";
  return {
    since: given.get("since") ?? since,
    until: text("until"),
    owner: text("owner"),
    labels: text("labels"),
    model: text("model"),
    by: text("by") || "session",
  };
}

/** More groups than a reader looks at. The sums of what is left out would be missing, so the page says so. */
const MAX_ROWS = 20_000;

/** The rows of one way to group, and whether there would be more. */
export interface Report {
  readonly rows: readonly UsageRow[];
  readonly isCut: boolean;
}

type Name = "days" | "models" | "tools" | "groups";

/** What calls of models and tools took in a time, added up in several ways, one after the other. */
export class UsageReport {
  readonly filter = signal<UsageFilter | undefined>(undefined);
  readonly days = signal<Report | undefined>(undefined);
  readonly models = signal<Report | undefined>(undefined);
  readonly tools = signal<Report | undefined>(undefined);
  readonly groups = signal<Report | undefined>(undefined);
  readonly error = signal<unknown>(undefined);
  /** From 0 to 1; undefined when nothing is added up. */
  readonly progress = signal<number | undefined>(undefined);
  #running = new AbortController();

  begin(filter: UsageFilter): void {
    const before = this.filter.peek();
    this.filter.value = filter;
    noteWhere({ view: "usage", query: queryFrom(filter) });
    const isOtherTable = before !== undefined && queryFrom({ ...before, by: filter.by }) === queryFrom(filter);
    void this.#run(
      isOtherTable && this.tools.peek() !== undefined ? ["groups"] : ["models", "days", "groups", "tools"],
    );
  }

  again(): void {
    const filter = this.filter.peek();
    if (filter !== undefined) void this.#run(["models", "days", "groups", "tools"]);
  }

  stop(): void {
    this.#running.abort();
  }

  async #run(names: readonly Name[]): Promise<void> {
    this.stop();
    this.#running = new AbortController();
    const { signal } = this.#running;
    const filter = this.filter.peek() as UsageFilter;
    for (const name of names) this[name].value = undefined;
    this.error.value = undefined;
    try {
      for (const [i, name] of names.entries()) {
        const onProgress = (part: number) => {
          this.progress.value = (i + part) / names.length;
        };
        onProgress(0);
        const report = await reportOf(groupOf(name, filter), requestOf(filter), signal, onProgress);
        if (signal.aborted) return;
        this[name].value = report;
      }
    } catch (error) {
      if (!signal.aborted) this.error.value = error;
    } finally {
      if (!signal.aborted) this.progress.value = undefined;
    }
  }
}

function groupOf(name: Name, { by }: UsageFilter): string {
  return { days: "day", models: "day,model", tools: "tool", groups: by }[name];
}

function requestOf({ since, until, owner, labels, model }: UsageFilter): UsageQuery {
  return {
    since: timeOf(since),
    until: timeOf(until),
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    ...ownerOf(owner),
    labels: wordsOf(labels),
    model: model.trim() || undefined,
  };
}

async function reportOf(
  groupBy: string,
  query: UsageQuery,
  signal: AbortSignal,
  onProgress: (part: number) => void,
): Promise<Report> {
  const rows: UsageRow[] = [];
  let pageToken = "";
  do {
    const page = await sumUsage(groupBy, query, pageToken, signal);
    for (const row of page.rows ?? []) rows.push(row);
    pageToken = page.nextPageToken ?? "";
    onProgress(page.progress ?? 0);
  } while (pageToken !== "" && rows.length < MAX_ROWS);
  return { rows, isCut: pageToken !== "" };
}
