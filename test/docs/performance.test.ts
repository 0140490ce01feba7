import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { COLUMNS, isFront } from "../bench/fronts/columns.js";
import { missingGenerators, readH2load, readWrk } from "../bench/fronts/generators.js";
import type { Cost } from "../bench/fronts/measure.js";
import { OPERATIONS, STORES } from "../bench/fronts/operations.js";
import { drawFronts } from "../bench/fronts/picture.js";
import { costTable, ratioTable, replaceTable, spreadLine } from "../bench/fronts/tables.js";

const ROOT = join(import.meta.dirname, "../..");
const page = readFileSync(join(ROOT, "docs/performance.md"), "utf8");

/** A cost in each cell: 100 µs of each front, and 60 µs of each bare server. */
const costs = OPERATIONS.flatMap(({ id: operation }): Cost[] =>
  COLUMNS.flatMap((column): Cost[] =>
    isFront(column)
      ? STORES.map((store) => ({ operation, column: column.id, store, build: "after", micros: [100, 90, 110] }))
      : [{ operation, column: column.id, micros: [60, 54, 66] }],
  ),
);

describe("docs/performance.md", () => {
  it.each([
    ["costs", costTable(costs)],
    ["ratios", ratioTable(costs)],
  ])("has all rows and columns of the %s that the benchmark prints", (_, printed) => {
    const table = onPage(printed);
    expect(table.map(([name]) => name)).toEqual(cellsOf(printed).map(([name]) => name));
    expect(table[0]).toEqual(cellsOf(printed)[0]);
  });

  it("shows the targets of the benchmark, and in bold what misses them", () => {
    const targets = (table: string[][]) =>
      table.flatMap((cells) => cells.map((cell) => / of ([\d.]+)$/.exec(cell)?.[1]));
    const table = onPage(ratioTable(costs));
    expect(targets(table)).toEqual(targets(cellsOf(ratioTable(costs))));
    const wrong = table.flat().filter((cell) => {
      const [, ratio, target] = /^\**([\d.]+)\** of ([\d.]+)$/.exec(cell) ?? [];
      return ratio !== undefined && cell.startsWith("**") !== Number(ratio) < Number(target);
    });
    expect(wrong).toEqual([]);
  });

  it("shows the picture that the benchmark draws", () => {
    const words = (svg: string) => new Set(svg.match(/(?<=>)[A-Z][^<]*[a-zB](?=<)/g));
    expect(words(readFileSync(join(ROOT, "docs/images/fronts.svg"), "utf8"))).toEqual(words(drawFronts(costs)));
  });
});

describe("the tables of the benchmark", () => {
  it("compare a front with its bare server round by round", () => {
    const [first] = OPERATIONS;
    const rounds = (micros: number[], column: string, store?: "memory"): Cost => ({
      ...{ operation: first?.id ?? "", column, store, build: store && "after", micros },
    });
    const some = [rounds([10, 200, 30], "bare-http"), rounds([20, 100, 60], "rest", "memory")];
    expect(cellsOf(costTable(some))[2]).toEqual([`${first?.name}, memory`, "60", "30"]);
    expect(cellsOf(ratioTable(some))[2]).toEqual([`${first?.name}, memory`, "0.50 of 0.50"]);
  });

  it("replace those of a page", () => {
    const before = costTable(costs.map((cost) => ({ ...cost, micros: [7] })));
    expect(replaceTable(`Text\n\n${before}\n\nMore\n`, costTable(costs))).toBe(`Text\n\n${costTable(costs)}\n\nMore\n`);
    expect(() => replaceTable("Text\n", costTable(costs))).toThrow("The page has no table");
  });

  it("say how far the rounds of a cell lie apart", () => {
    const [some] = costs;
    const wide = { ...(some as Cost), micros: [100, 50, 150] };
    expect(spreadLine([...costs, wide])).toContain("lie 20 % of its median, at the median of all cells, and 100 %");
  });

  it("show two builds side by side", () => {
    const before = costs.map((cost) => ({ ...cost, build: cost.store && "before", micros: [200] }));
    expect(costTable([...before, ...costs])).toContain("| 200 → 100 |");
  });
});

describe("generators", () => {
  afterEach(() => vi.unstubAllEnvs());

  it("that are missing are named, with the packages that have them", () => {
    vi.stubEnv("PATH", import.meta.dirname);
    expect(missingGenerators()).toBe(
      "wrk and h2load must be installed, on Debian by apt-get install wrk nghttp2-client",
    );
  });
});

describe("a generator's output", () => {
  it("is the number of calls", () => {
    expect(readWrk("calls 10 bytes 1000 failed 0\n", 100)).toBe(10);
    expect(readH2load(h2load("10 succeeded, 0 failed, 0 errored, 0 timeout", 1000), 100)).toBe(10);
  });

  it.each(["calls 10 bytes 1000 failed 1\n", "calls 10 bytes 500 failed 0\n", ""])(
    "of wrk is refused if a call failed: %j",
    (output) => expect(() => readWrk(output, 100)).toThrow("Calls of wrk failed"),
  );

  it.each([
    h2load("10 succeeded, 1 failed, 0 errored, 0 timeout", 1000),
    h2load("10 succeeded, 0 failed, 1 errored, 0 timeout", 1000),
    h2load("10 succeeded, 0 failed, 0 errored, 1 timeout", 1000),
    // Calls over gRPC that ended with an error: their answers have no message.
    h2load("10 succeeded, 0 failed, 0 errored, 0 timeout", 0),
    "",
  ])("of h2load is refused if a call failed: %j", (output) => {
    expect(() => readH2load(output, 100)).toThrow("Calls of h2load failed");
  });
});

function h2load(counts: string, bytes: number): string {
  return `requests: 12 total, 12 started, 12 done, ${counts}
traffic: 1.00KB (1024) total, 1.00KB (1024) headers (space savings 0.00%), 1.00KB (${bytes}) data
`;
}

/** The cells of the table on the page whose first line is that of another table. */
function onPage(table: string): string[][] {
  const [head = ""] = table.split("\n");
  const at = page.indexOf(head);
  return at < 0 ? [] : cellsOf(page.slice(at).split("\n\n")[0] ?? "");
}

function cellsOf(table: string): string[][] {
  return table.split("\n").map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}
