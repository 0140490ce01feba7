import { COLUMNS, type Column, isFront } from "./columns.js";
import type { Cost } from "./measure.js";
import { OPERATIONS, type Operation, type Store } from "./operations.js";

/** A row of a table. */
interface TableRow {
  readonly operation: Operation;
  readonly store: Store;
}

/** Returns a Markdown table of the microseconds that a call costs: one row an operation, one column a front. */
export function costTable(costs: readonly Cost[]): string {
  const columns = columnsOf(costs);
  return tableOf("µs a call", costs, columns, (row, column) => costsAt(costs, row, column).map(microsOf).join(" → "));
}

/**
 * Returns a Markdown table of the part of a front's processor time that a bare server needs for the same call, with
 * targets. What misses its target is bold.
 */
export function ratioTable(costs: readonly Cost[]): string {
  const measured = columnsOf(costs);
  const columns = measured.filter((column) => isFront(column) && measured.some(({ id }) => id === column.bare));
  return tableOf("a bare server's time for ours", costs, columns, (row, column) => {
    const [bare] = costs.filter(({ operation, column: id }) => operation === row.operation.id && id === column.bare);
    const atLeast = row.operation.targets[row.store]?.[column.bare];
    const ratios = costsAt(costs, row, column).map((cost) => {
      const ratio = ratioOf(bare as Cost, cost).toFixed(2);
      return atLeast !== undefined && Number(ratio) < atLeast ? `**${ratio}**` : ratio;
    });
    return `${ratios.join(" → ")}${atLeast === undefined ? "" : ` of ${atLeast.toFixed(2)}`}`;
  });
}

/** Replaces a table of a page by one with the same heads of columns. Throws if the page has none. */
export function replaceTable(page: string, table: string): string {
  const [heads = ""] = table.split("\n");
  const begin = page.indexOf(heads);
  if (begin < 0) throw new Error(`The page has no table with these columns: ${heads}`);
  const end = page.indexOf("\n\n", begin);
  return page.slice(0, begin) + table + page.slice(end);
}

/** Says how far the rounds of a cell lie apart, which shows whether the machine did other work. */
export function spreadLine(costs: readonly Cost[]): string {
  const spreads = costs.map(({ micros }) => (Math.max(...micros) - Math.min(...micros)) / median(micros));
  return `Between the least and the most of a cell's rounds lie ${Math.round(100 * median(spreads))} % of its median, at the median of all cells, and ${Math.round(100 * Math.max(...spreads))} % at most.`;
}

/** The median of the rounds' ratios: what slows the machine down for a while affects both sides of a round. */
function ratioOf(bare: Cost, front: Cost): number {
  return median(front.micros.map((micros, round) => (bare.micros[round] as number) / micros));
}

function tableOf(
  title: string,
  costs: readonly Cost[],
  columns: readonly Column[],
  cell: (row: TableRow, column: Column) => string,
): string {
  const stores = [...new Set(costs.flatMap(({ store }) => store ?? []))];
  const operations = OPERATIONS.filter(({ id }) => costs.some(({ operation }) => operation === id));
  const rows = stores.flatMap((store) => operations.map((operation) => ({ store, operation })));
  const lines = [
    [title, ...columns.map(({ name }) => name)],
    [title, ...columns].map(() => "---"),
    ...rows.map((row) => [`${row.operation.name}, ${row.store}`, ...columns.map((column) => cell(row, column))]),
  ];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function columnsOf(costs: readonly Cost[]): Column[] {
  return COLUMNS.filter(({ id }) => costs.some(({ column }) => column === id));
}

/** The costs of one cell, one for each build. */
function costsAt(costs: readonly Cost[], row: TableRow, column: Column): Cost[] {
  return costs.filter(
    ({ operation, column: id, store = row.store }) =>
      operation === row.operation.id && id === column.id && store === row.store,
  );
}

function microsOf({ micros }: Cost): string {
  return Math.round(median(micros)).toLocaleString("en-US");
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] as number;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] as number)) / 2;
}
