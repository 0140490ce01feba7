import { withoutPiles } from "../../../../parts/piles.js";
import type { UsageRow } from "../../api/types.js";
import { daysBetween, seriesOf, valuesOf } from "../../state/usage-days.js";
import type { UsageFilter } from "../../state/usage-report.js";
import { amountOf, compact, milliseconds, money, tokensOf } from "../../state/usage-sums.js";
import { duration } from "../../text/format.js";
import { COLOURS, DaysPlot, NamesPlot } from "./plot.js";

const MAX_TOOLS = 12;

interface PlotsProps {
  readonly models: readonly UsageRow[];
  readonly days: readonly UsageRow[];
  readonly tools: readonly UsageRow[];
  readonly filter: UsageFilter;
}

/** Usage by day as pictures. The tables below have the exact numbers. */
export function UsagePlots({ models, days: byDay, tools, filter }: PlotsProps) {
  const days = daysBetween(models, filter.since, filter.until);
  const series = seriesOf(models);
  const currencies = [...new Set(models.flatMap((row) => (row.costs ?? []).map(({ currency }) => currency)))].sort();
  const slow = byDay.flatMap(({ day, durationP95 }) => {
    const value = milliseconds(durationP95);
    return day === undefined || value === undefined ? [] : [{ day, value }];
  });
  const failing = tools
    .map(({ tool = "", failedCalls }) => ({ name: withoutPiles(tool), value: Number(failedCalls ?? 0) }))
    .filter(({ value }) => value > 0)
    .sort((one, other) => other.value - one.value)
    .slice(0, MAX_TOOLS);
  const common = { days, series, group: "Model" };
  return (
    <section class="plots" aria-label="Plots">
      {models.length > 0 && <Legend series={series} />}
      {currencies.map((currency) => (
        <DaysPlot
          key={currency}
          title={`Cost by day, in ${currency}`}
          measure="Cost"
          {...common}
          values={valuesOf(models, series, (row) => amountOf(row, currency))}
          format={(amount) => money({ currency, amount: String(amount) })}
        />
      ))}
      {models.length > 0 && (
        <>
          <DaysPlot
            title="Tokens by day"
            measure="Tokens"
            {...common}
            values={valuesOf(models, series, tokensOf)}
            format={compact}
          />
          <DaysPlot
            title="Calls of models by day"
            measure="Calls"
            {...common}
            values={valuesOf(models, series, ({ calls }) => Number(calls ?? 0))}
            format={compact}
          />
        </>
      )}
      {slow.length > 0 && (
        <DaysPlot
          title="Time within which 95 % of the calls ended"
          measure="95 % within"
          days={days}
          values={slow}
          format={duration}
        />
      )}
      {failing.length > 0 && (
        <NamesPlot title="Failed calls by tool" measure="Failed calls" group="Tool" values={failing} format={compact} />
      )}
    </section>
  );
}

function Legend({ series }: { series: readonly string[] }) {
  return (
    <ul class="legend" aria-label="Models">
      {series.map((name, i) => (
        <li key={name}>
          <span class="swatch" style={{ background: COLOURS[i % COLOURS.length] as string }} /> {withoutPiles(name)}
        </li>
      ))}
    </ul>
  );
}
