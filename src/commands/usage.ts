import { momentMicros } from "../config/flags.js";
import { LocalDays } from "../domain/local-days.js";
import { amountText } from "../domain/usage.js";
import {
  checkTimeZone,
  groupName,
  parseGroupBy,
  type UsageCursor,
  type UsageGroup,
  type UsageRow,
} from "../domain/usage-groups.js";
import { exactMicros } from "../domain/validate-page.js";
import type { SessionPool } from "../pool/session-pool.js";
import type { SumUsageOptions } from "../pool/session-pool-types.js";
import { print, printText } from "./print.js";
import { printableInLine } from "./printable.js";
import { progressBar } from "./transfer/progress-bar.js";
import { type CommandTarget, withPools } from "./with-pools.js";

export interface UsageOptions {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly groupBy: string;
  readonly timeZone?: string | undefined;
  /** Empty for sessions without an owner. */
  readonly owner?: string | undefined;
  readonly label?: readonly string[] | undefined;
  readonly session?: string | undefined;
  readonly model?: string | undefined;
  readonly csv: boolean;
}

interface Column {
  readonly name: string;
  readonly isNumber: boolean;
  /** The text in a row of CSV; a table has the same with separators of thousands. */
  readonly text: (row: UsageRow) => string;
  /** The text below all rows; empty where adding up means nothing. */
  readonly total: (rows: readonly UsageRow[]) => string;
}

const PAGE = 1000;
const UNITS: ReadonlyMap<string, number> = new Map([
  ["m", 60],
  ["h", 3600],
  ["d", 86_400],
  ["w", 7 * 86_400],
]);

/** Prints sums of usage as a table with totals, or as CSV (RFC 4180). */
export async function printUsage(target: CommandTarget, options: UsageOptions): Promise<void> {
  const { groupBy, timeZone, label, session, model, owner, csv } = options;
  const groups = parseGroupBy(groupBy);
  checkTimeZone("--time-zone", timeZone);
  const days = new LocalDays(timeZone);
  const query: Omit<SumUsageOptions, "limit"> = {
    ...{ groupBy, timeZone, owner, model, labels: label, sessionId: session },
    sinceMicros: readTime("--since", options.since, days),
    untilMicros: readTime("--until", options.until, days),
  };
  const { storage, namespace, limits } = target;
  const rows = await withPools(storage, (pools) => allRows(pools.for(namespace).sessions, query), { limits });
  const columns = columnsOf(groups, rows);
  if (csv) for (const line of csvLines(columns, rows)) printText(line);
  else for (const line of tableLines(columns, rows)) print(line);
}

/** A moment in microseconds: a time ago, a day of the time zone, or a moment in RFC 3339. */
export function readTime(
  flag: string,
  text: string | undefined,
  days: LocalDays,
  nowMs: number = Date.now(),
): number | undefined {
  if (text === undefined) return undefined;
  const [, count, unit = ""] = /^(\d{1,6})([mhdw])$/.exec(text) ?? [];
  if (count !== undefined) return (nowMs - Number(count) * (UNITS.get(unit) ?? 0) * 1000) * 1000;
  if (/^\d{4}-\d\d-\d\d$/.test(text)) {
    const micros = days.startOf(text);
    if (Number.isFinite(micros)) return exactMicros(micros);
  } else {
    const micros = momentMicros(text);
    if (micros !== undefined) return micros;
  }
  const forms = "7d, 12h, 30m, 2w, 2026-11-28 or 2026-11-28T10:00:00Z";
  throw new Error(`${flag} is ${JSON.stringify(text)}; it must be a time such as ${forms}`);
}

async function allRows(sessions: SessionPool, query: Omit<SumUsageOptions, "limit">): Promise<UsageRow[]> {
  const bar = progressBar("Adding up", "%");
  const rows: UsageRow[] = [];
  let isShown = false;
  let cursor: UsageCursor | undefined;
  try {
    do {
      const page = await sessions.sumUsage({ ...query, limit: PAGE, cursor });
      rows.push(...page.rows);
      cursor = page.next;
      if (page.rows.length === 0 && cursor !== undefined) {
        if (!isShown) bar.start(100, 0);
        isShown = true;
        bar.update(Math.floor(100 * page.progress));
      }
    } while (cursor !== undefined);
  } finally {
    if (isShown) bar.stop();
  }
  return rows;
}

function columnsOf(groups: readonly UsageGroup[], rows: readonly UsageRow[]): Column[] {
  const named = groups.map(
    (group, i): Column => ({
      name: groupName(group),
      isNumber: false,
      text: ({ values }) => values[i] ?? "",
      total: () => (i === 0 ? "total" : ""),
    }),
  );
  if (groups.some(({ by }) => by === "tool")) {
    return [...named, countColumn("calls", "calls"), countColumn("failed_calls", "failedCalls")];
  }
  const currencies = [...new Set(rows.flatMap(({ costs }) => [...costs.keys()]))].sort();
  return [
    ...named,
    countColumn("calls", "calls"),
    countColumn("input_tokens", "inputTokens"),
    countColumn("output_tokens", "outputTokens"),
    countColumn("cached_input_tokens", "cachedInputTokens"),
    countColumn("reasoning_tokens", "reasoningTokens"),
    ...currencies.map(costColumn),
    secondsColumn("duration_p50_s", ({ durationP50Micros }) => durationP50Micros),
    secondsColumn("duration_p95_s", ({ durationP95Micros }) => durationP95Micros),
  ];
}

type CountField = "calls" | "failedCalls" | "inputTokens" | "outputTokens" | "cachedInputTokens" | "reasoningTokens";

function countColumn(name: string, field: CountField): Column {
  return {
    name,
    isNumber: true,
    text: (row) => String(row[field]),
    total: (rows) => String(rows.reduce((sum, row) => sum + BigInt(row[field]), 0n)),
  };
}

function costColumn(currency: string): Column {
  return {
    name: `cost_${currency}`,
    isNumber: true,
    text: ({ costs }) => amountText(costs.get(currency) ?? 0n),
    total: (rows) => amountText(rows.reduce((sum, { costs }) => sum + (costs.get(currency) ?? 0n), 0n)),
  };
}

function secondsColumn(name: string, microsOf: (row: UsageRow) => number | undefined): Column {
  return {
    name,
    isNumber: true,
    text: (row) => {
      const micros = microsOf(row);
      return micros === undefined ? "" : amountText(BigInt(micros) * 10n ** 12n);
    },
    total: () => "",
  };
}

/** Lines with a header, and with line ends, as RFC 4180 has them. */
export function* csvLines(columns: readonly Column[], rows: readonly UsageRow[]): Generator<string> {
  yield csvLine(columns.map(({ name }) => name));
  for (const row of rows) yield csvLine(columns.map(({ text }) => text(row)));
}

function csvLine(fields: readonly string[]): string {
  return `${fields.map((field) => (/[",\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field)).join(",")}\r\n`;
}

function tableLines(columns: readonly Column[], rows: readonly UsageRow[]): string[] {
  const cell = ({ isNumber }: Column, text: string) => (isNumber ? withThousands(text) : printableInLine(text));
  const lines = [
    columns.map(({ name }) => name),
    ...rows.map((row) => columns.map((column) => cell(column, column.text(row)))),
    ...(rows.length > 1 ? [columns.map((column) => cell(column, column.total(rows)))] : []),
  ];
  const widths = columns.map((_, i) => lines.reduce((most, line) => Math.max(most, (line[i] as string).length), 0));
  return lines.map((line) =>
    line
      .map((text, i) => (columns[i]?.isNumber ? text.padStart(widths[i] as number) : text.padEnd(widths[i] as number)))
      .join("  ")
      .trimEnd(),
  );
}

function withThousands(number: string): string {
  const [whole = "", fraction] = number.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}
