import * as Plot from "@observablehq/plot";
import { parseHTML } from "linkedom";

/** The time of one operation at one size. */
export interface Point {
  readonly store: string;
  readonly operation: string;
  /** The number of messages in the session, or of sessions in the store. */
  readonly size: number;
  /** The median time. */
  readonly ms: number;
}

const COLUMNS = 4;

/**
 * Draws an SVG with a small chart for each operation and a line for each store. The charts show time over size, both on
 * logarithmic scales.
 */
export function drawGrowth(points: readonly Point[]): string {
  const operations = [...new Set(points.map(({ operation }) => operation))];
  const column = ({ operation }: { readonly operation: string }) => operations.indexOf(operation) % COLUMNS;
  const row = ({ operation }: { readonly operation: string }) => Math.floor(operations.indexOf(operation) / COLUMNS);
  const stores = [...new Set(points.map(({ store }) => store))];
  const { document } = parseHTML("<html><body></body></html>");
  const figure = Plot.plot({
    document,
    width: 880,
    height: 190 * Math.ceil(operations.length / COLUMNS) + 60,
    marginLeft: 55,
    style: { background: "white", color: "black" },
    x: { type: "log", label: "messages, or sessions", tickFormat: "~s", ticks: 4 },
    y: { type: "log", label: "ms", tickFormat: "~g", ticks: 4, grid: true },
    fx: { axis: null },
    fy: { axis: null },
    color: { domain: stores, range: ["#0b7285", "#6741d9", "#e8590c"] },
    marks: [
      Plot.frame({ stroke: "#ced4da" }),
      Plot.lineY(points, { x: "size", y: "ms", stroke: "store", fx: column, fy: row, marker: "dot" }),
      Plot.text(
        operations.map((operation) => ({ operation })),
        { text: "operation", fx: column, fy: row, frameAnchor: "top", dy: 6, fontWeight: "bold" },
      ),
      ...stores.map((store, i) =>
        Plot.text([points[0]], {
          text: () => store,
          fill: () => store,
          fx: column,
          fy: row,
          frameAnchor: "right",
          dy: 14 * (i + 1),
        }),
      ),
    ],
  });
  figure.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return `${figure.outerHTML}\n`;
}
