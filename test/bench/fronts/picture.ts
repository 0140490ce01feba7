import * as Plot from "@observablehq/plot";
import { parseHTML } from "linkedom";
import { COLUMNS, type Column, isFront } from "./columns.js";
import type { Cost } from "./measure.js";
import { OPERATIONS, type Operation } from "./operations.js";
import { median } from "./tables.js";

/** Narrow, so that the text can be read on a phone. */
const WIDTH = 440;
const BAR = 17;
const HEADING = 24;
const COLOR = { memory: "#0b7285", SQLite: "#99d8e5", bare: "#e8590c" } as const;

interface Bar {
  readonly operation: string;
  readonly front: string;
  readonly memory: number;
  readonly SQLite: number;
  readonly bare: number;
}

/**
 * Draws an SVG with a bar for each front of each operation, and a mark for the bare server. Pages have a scale of their
 * own.
 */
export function drawFronts(costs: readonly Cost[]): string {
  const panels = [false, true].map((isPage) =>
    OPERATIONS.filter((operation) => operation.isPage === isPage).flatMap((operation) => barsOf(costs, operation)),
  );
  const drawn = panels.filter((bars) => bars.length > 0).map(drawPanel);
  let top = 30;
  const placed = drawn.map(({ svg, height }) => {
    const line = `<g transform="translate(0,${top})">${svg}</g>`;
    top += height;
    return line;
  });
  const legend = [
    ["memory", COLOR.memory],
    ["SQLite", COLOR.SQLite],
    ["a bare server", COLOR.bare],
  ].map(([text, color], i) => {
    const x = 8 + 90 * i;
    return `<rect x="${x}" y="10" width="12" height="12" fill="${color}"/><text x="${x + 17}" y="20.5">${text}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${top}" width="${WIDTH}" height="${top}" font-family="system-ui, sans-serif" font-size="12">
<rect width="100%" height="100%" fill="white"/>
${legend.join("\n")}
${placed.join("\n")}
</svg>
`;
}

function barsOf(costs: readonly Cost[], operation: Operation): Bar[] {
  const of = (column: string, store?: string) => {
    const found = costs.findLast(
      (cost) => cost.operation === operation.id && cost.column === column && cost.store === store,
    );
    return found === undefined ? Number.NaN : median(found.micros);
  };
  const fronts = COLUMNS.filter((column) => isFront(column) && costs.some((cost) => cost.column === column.id));
  return fronts
    .map((column: Column) => ({
      operation: operation.name,
      front: column.name,
      memory: of(column.id, "memory"),
      SQLite: of(column.id, "SQLite"),
      bare: of(column.bare),
    }))
    .filter(({ memory, SQLite }) => memory > 0 || SQLite > 0);
}

function drawPanel(bars: readonly Bar[]): { readonly svg: string; readonly height: number } {
  const operations = [...new Set(bars.map(({ operation }) => operation))];
  const fronts = [...new Set(bars.map(({ front }) => front))];
  const facet = fronts.length * BAR + HEADING;
  const height = operations.length * facet + 34;
  const place = { y: "front", fy: "operation" } as const;
  const { document } = parseHTML("<html><body></body></html>");
  const figure = Plot.plot({
    document,
    width: WIDTH,
    height,
    marginLeft: 150,
    marginRight: 76,
    marginTop: HEADING - 6,
    marginBottom: 34,
    style: { fontSize: "12px", color: "black" },
    x: { label: "µs of the processor a call", grid: true, ticks: 4, nice: true },
    y: { domain: fronts, label: null, tickSize: 0 },
    fy: { domain: operations, axis: null, padding: HEADING / facet },
    marks: [
      Plot.barX(bars, { ...place, x: "SQLite", fill: COLOR.SQLite, insetTop: 1, insetBottom: 1 }),
      Plot.barX(bars, { ...place, x: "memory", fill: COLOR.memory, insetTop: 1, insetBottom: 1 }),
      Plot.tickX(bars, { ...place, x: "bare", stroke: COLOR.bare, strokeWidth: 2.5 }),
      Plot.text(bars, {
        ...place,
        x: ({ memory, SQLite }: Bar) => Math.max(memory || 0, SQLite || 0),
        text: ({ memory, SQLite }: Bar) =>
          [memory, SQLite]
            .filter((one) => one > 0)
            .map(Math.round)
            .join(", "),
        textAnchor: "start",
        dx: 4,
      }),
      Plot.text(operations, { text: (name: string) => name, fy: (name: string) => name, ...HEADING_PLACE }),
    ],
  });
  figure.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return { svg: figure.outerHTML, height };
}

const HEADING_PLACE = {
  frameAnchor: "top-left",
  dx: -145,
  dy: -15,
  fontWeight: "bold",
} as const;
