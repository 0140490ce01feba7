import { useEffect, useRef, useState } from "preact/hooks";
import { dayName } from "../../text/format.js";

/** A value of a day; with a series, the values of a day stand on each other. */
export interface DayValue {
  readonly day: string;
  readonly value: number;
  readonly series?: string;
}

/** Colours of series, as the style sheet defines them for light and dark pages. */
export const COLOURS = Array.from({ length: 7 }, (_, i) => `var(--series-${i + 1})`);

type Plotting = typeof import("./plotting.js");

/** Room for the name of a day. */
const TICK_PX = 62;

/** About how many numbers an axis has; it ends with the last of them. */
const TICKS = 4;

interface DaysProps {
  readonly title: string;
  readonly days: readonly string[];
  readonly values: readonly DayValue[];
  readonly series?: readonly string[];
  /** What the values and the series are, for what is shown over a bar. */
  readonly measure: string;
  readonly group?: string;
  readonly format: (value: number) => string;
}

/** Bars by day, or a line where there is one value a day. The tables of the page have the same numbers. */
export function DaysPlot({ title, days, values, series, measure, group = "Series", format }: DaysProps) {
  const tip = { format: { x: dayName, y: format, fill: true } } as const;
  const draw = (width: number, { plot, barY, lineY, dot, ruleY }: Plotting) => {
    const each = Math.ceil((days.length * TICK_PX) / width);
    const stroke = COLOURS[0] as string;
    const x = named<DayValue>("day", "Day");
    const y = named<DayValue>("value", measure);
    const fill = named<DayValue>("series", group);
    const marks =
      series === undefined
        ? [lineY(values, { x, y, stroke }), dot(values, { x, y, fill: stroke, tip })]
        : [barY(values, { x, y, fill, order: [...series], tip })];
    return plot({
      ...frame(title, width, 210),
      marginLeft: 72,
      x: {
        type: "band",
        domain: [...days],
        ticks: days.filter((_, i) => i % each === 0),
        tickFormat: dayName,
        label: null,
      },
      y: { label: null, grid: true, tickFormat: ticksOf(format), ticks: TICKS, nice: TICKS, zero: true },
      ...(series && { color: { domain: [...series], range: COLOURS } }),
      marks: [ruleY([0]), ...marks],
    });
  };
  return <Figure title={title} draw={draw} inputs={[values, days]} />;
}

export interface NamedValue {
  readonly name: string;
  readonly value: number;
}

interface NamesProps {
  readonly title: string;
  /** What the values and the names are, for what is shown over a bar. */
  readonly measure: string;
  readonly group: string;
  readonly values: readonly NamedValue[];
  readonly format: (value: number) => string;
}

/** Bars by name, the longest first. */
export function NamesPlot({ title, measure, group, values, format }: NamesProps) {
  const shortened = (name: string) => (name.length > 18 ? `${name.slice(0, 17)}…` : name);
  // A few calls have no more numbers than calls, because there are no halves.
  const ticks = Math.min(TICKS, Math.max(1, ...values.map(({ value }) => value)));
  const draw = (width: number, { plot, barX, ruleX }: Plotting) =>
    plot({
      ...frame(title, width, 40 + 26 * values.length),
      marginLeft: 130,
      x: { label: null, grid: true, tickFormat: ticksOf(format), ticks, nice: ticks, zero: true },
      y: { label: null, domain: values.map(({ name }) => name), tickFormat: shortened },
      marks: [
        barX(values, {
          x: named<NamedValue>("value", measure),
          y: named<NamedValue>("name", group),
          fill: "var(--bad)",
          tip: { format: { x: format, y: true } },
        }),
        ruleX([0]),
      ],
    });
  return <Figure title={title} draw={draw} inputs={[values]} />;
}

/** A field of the values, and what it is called over a bar. */
function named<Value>(field: keyof Value, label: string) {
  return { transform: (values: readonly Value[]) => values.map((one) => one[field]), label };
}

/** Nothing needs no unit, which could differ from that of the other numbers of the axis. */
function ticksOf(format: (value: number) => string): (value: number) => string {
  return (value) => (value === 0 ? "0" : format(value));
}

function frame(title: string, width: number, height: number) {
  return { className: "plot", ariaLabel: title, width, height, style: { background: "none", fontSize: "12px" } };
}

interface FigureProps {
  readonly title: string;
  readonly draw: (width: number, plotting: Plotting) => Element;
  /** What the picture shows. */
  readonly inputs: readonly unknown[];
}

/** Draws again when the numbers or the width have changed. */
function Figure({ title, draw, inputs }: FigureProps) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [plotting, setPlotting] = useState<Plotting | undefined>(undefined);
  const [hasFailed, setFailed] = useState(false);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    if (box.current) observer.observe(box.current);
    import("./plotting.js").then(setPlotting, () => setFailed(true));
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (width === 0 || plotting === undefined) return;
    const drawn = draw(width, plotting);
    drawn.setAttribute("role", "img");
    // The picture has one name. Its parts have names that say nothing, and no role that may have one.
    for (const part of drawn.querySelectorAll("[aria-label]")) part.removeAttribute("aria-label");
    box.current?.replaceChildren(drawn);
  }, [width, plotting, title, ...inputs]);
  return (
    <figure class="plot-figure">
      <figcaption>{title}</figcaption>
      <div ref={box} class="plot-box" aria-busy={plotting === undefined && !hasFailed} />
      {hasFailed && <p class="panel-note bad">The plot could not be loaded. The tables have its numbers.</p>}
    </figure>
  );
}
