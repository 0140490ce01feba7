import { AsyncLocalStorage } from "node:async_hooks";
import pg from "pg";
import { TABLES } from "../../src/storage/postgres/schema.js";
import type { SentStatement } from "../contract/log-store/subject.js";
import { type PostgresServer, query } from "./postgres-server.js";

/** A node of a plan, as `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)` says it. */
export interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Index Cond"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly "Rows Removed by Filter"?: number;
  readonly "Rows Removed by Index Recheck"?: number;
  readonly "Shared Hit Blocks": number;
  readonly "Shared Read Blocks": number;
  readonly Plans?: readonly PlanNode[];
}

/** What the server did for a statement, or for one inside a function that the statement calls. */
export interface Plan {
  readonly "Query Text": string;
  readonly Plan: PlanNode;
}

export interface PlannedStatement extends SentStatement {
  /** The statements inside functions come first. */
  readonly plans: readonly Plan[];
}

/** But for `feed`, which has one row. */
const READ_TABLES: ReadonlySet<string> = new Set([...TABLES.filter((table) => table !== "feed"), "meta"]);

/** Makes a server say what it does for each statement, also inside functions. */
const SETTINGS: Readonly<Record<string, string>> = {
  session_preload_libraries: "auto_explain",
  "auto_explain.log_min_duration": "0",
  "auto_explain.log_analyze": "on",
  "auto_explain.log_buffers": "on",
  "auto_explain.log_timing": "off",
  "auto_explain.log_nested_statements": "on",
  "auto_explain.log_format": "json",
  "auto_explain.log_level": "notice",
};

interface Sent {
  readonly text: string;
  readonly plans: Plan[];
}

const sending = new AsyncLocalStorage<Sent[]>();
const running = new WeakMap<pg.Client, Sent>();

const send = pg.Client.prototype.query as (this: pg.Client, ...args: unknown[]) => unknown;
pg.Client.prototype.query = function queryNoted(this: pg.Client, ...args: unknown[]) {
  const notes = sending.getStore();
  if (notes !== undefined) {
    if (!running.has(this)) this.on("notice", ({ message }) => note(running.get(this), message));
    const [config] = args as [string | { readonly text: string }];
    const sent: Sent = { text: typeof config === "string" ? config : config.text, plans: [] };
    running.set(this, sent);
    notes.push(sent);
  }
  return send.apply(this, args);
} as typeof pg.Client.prototype.query;

function note(sent: Sent | undefined, notice: string | undefined): void {
  const plan = /^duration: .* plan:\n(.*)$/s.exec(notice ?? "")?.[1];
  if (plan !== undefined) sent?.plans.push(JSON.parse(plan) as Plan);
}

/**
 * Whether a server can say what it does: its user must be a superuser, the module auto_explain must be installed, and
 * no pooler may stand in front.
 */
export async function canExplain(server: PostgresServer | null): Promise<boolean> {
  if (server === null) return false;
  return query(explainedUrl(server.url), "SELECT 1").then(
    () => true,
    () => false,
  );
}

/** Returns the URL of a database whose connections say what they do. `settings` are further ones of the server. */
export function explainedUrl(databaseUrl: string, settings: Readonly<Record<string, string>> = {}): string {
  const url = new URL(databaseUrl);
  const options = Object.entries({ ...SETTINGS, ...settings }).map(([name, value]) => `-c ${name}=${value}`);
  url.searchParams.set("options", options.join(" "));
  return url.href;
}

/** The same server, for `openPostgresDatabases`. */
export function explained(server: PostgresServer | null): PostgresServer | null {
  return server && { ...server, url: explainedUrl(server.url) };
}

/** Resolves to the statements that the work sends, but for notifications, which are sent in the background. */
export async function statementsDuring(work: () => Promise<unknown>): Promise<readonly PlannedStatement[]> {
  const sent: Sent[] = [];
  await sending.run(sent, work);
  return sent
    .filter(({ text }) => !text.includes("pg_notify"))
    .map(({ text, plans }) => ({ text, plans, scansAll: plans.some((plan) => isUnbounded(plan)) }));
}

/** Whether a plan reads a whole table or a whole index. */
export function isUnbounded({ Plan }: Plan): boolean {
  return scansOf(Plan).some((node) => {
    const type = node["Node Type"];
    return type === "Seq Scan" || (/Index/.test(type) && node["Index Cond"] === undefined);
  });
}

/** How many rows a plan has read, also those that a filter left out. */
export function rowsRead({ Plan }: Plan): number {
  return scansOf(Plan).reduce((sum, node) => {
    const left = (node["Rows Removed by Filter"] ?? 0) + (node["Rows Removed by Index Recheck"] ?? 0);
    return sum + (node["Actual Rows"] + left) * node["Actual Loops"];
  }, 0);
}

/** How many blocks a plan has looked at. */
export function blocksRead({ Plan }: Plan): number {
  return Plan["Shared Hit Blocks"] + Plan["Shared Read Blocks"];
}

/** What a plan has read, in a few lines. */
export function summaryOf(plan: Plan): string {
  const scans = scansOf(plan.Plan).map((node) => {
    const index = node["Index Name"] === undefined ? "" : ` ${node["Index Name"]} ${node["Index Cond"] ?? ""}`;
    const left = node["Rows Removed by Filter"] ?? 0;
    return `  ${node["Node Type"]} of ${node["Relation Name"] ?? ""}${index}: ${node["Actual Rows"]} rows, ${left} left out, ${node["Actual Loops"]} times`;
  });
  return [`${plan["Query Text"]}: ${rowsRead(plan)} rows, ${blocksRead(plan)} blocks`, ...scans].join("\n");
}

/** The nodes that read a table of the store or an index. */
function scansOf(node: PlanNode): readonly PlanNode[] {
  const inner = (node.Plans ?? []).flatMap((plan) => scansOf(plan));
  const isScan = /^(Seq|Index|Index Only|Bitmap Heap|Bitmap Index|Tid|Tid Range) Scan$/.test(node["Node Type"]);
  return isScan && READ_TABLES.has(node["Relation Name"] ?? "messages") ? [node, ...inner] : inner;
}
