import { useEffect, useMemo } from "preact/hooks";
import { apiKey } from "../../api/http.js";
import type { UsageRow, UsageSums } from "../../api/types.js";
import { type UsageFilter, UsageReport, usageFilterOf } from "../../state/usage-report.js";
import { added, compact, costs, tokensOf } from "../../state/usage-sums.js";
import { count, localTime, plural, startOfDay } from "../../text/format.js";
import { PageHead } from "../page-head.js";
import { Problem } from "../problem.js";
import { Said } from "../said.js";
import { UsageFilters } from "./usage-filters.js";
import { UsagePlots } from "./usage-plots.js";
import { DaysTable, GroupsTable, ModelsTable, ToolsTable } from "./usage-tables.js";

/** What calls of models and tools took, by day, model, tool, session and owner. */
export function UsagePage({ query }: { query: string }) {
  const report = useMemo(() => new UsageReport(), []);
  useEffect(() => {
    report.begin(report.filter.peek() ?? usageFilterOf(query, localTime(startOfDay(new Date(), 6))));
    return () => report.stop();
  }, [report, apiKey.value]);
  const filter = report.filter.value;
  const error = report.error.value;
  const [models, days, tools, groups] = [report.models, report.days, report.tools, report.groups].map(
    ({ value }) => value,
  );
  if (error !== undefined && models === undefined && !isAboutFilter(error)) {
    return <Problem error={error} onRetry={() => report.again()} />;
  }
  const isEmpty = models?.rows.length === 0 && (tools === undefined || tools.rows.length === 0);
  return (
    <main class="home wide-page">
      <PageHead title="Usage" />
      {filter && <UsageFilters report={report} filter={filter} />}
      {error !== undefined && <Said what="failed" error={error} onRetry={() => report.again()} />}
      <Progress part={report.progress.value} />
      {isEmpty && report.progress.value === undefined && (
        <Said what="empty">
          No call of a model or a tool in this time. Messages say what their calls took in <code>info.usage</code>; the
          adapters fill it in.
        </Said>
      )}
      {models !== undefined && models.rows.length > 0 && <Totals rows={models.rows} />}
      {models !== undefined && days !== undefined && (models.rows.length > 0 || (tools?.rows.length ?? 0) > 0) && (
        <UsagePlots models={models.rows} days={days.rows} tools={tools?.rows ?? []} filter={filter as UsageFilter} />
      )}
      {days !== undefined && days.rows.length > 0 && <DaysTable rows={days.rows} />}
      {models !== undefined && models.rows.length > 0 && <ModelsTable rows={models.rows} />}
      {tools !== undefined && tools.rows.length > 0 && <ToolsTable rows={tools.rows} />}
      {filter && models !== undefined && models.rows.length > 0 && (
        <GroupsTable report={report} filter={filter} groups={groups} />
      )}
    </main>
  );
}

function isAboutFilter(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === 3;
}

/** How far the service has come; it adds up a limited number of messages in each call. */
function Progress({ part }: { part: number | undefined }) {
  if (part === undefined) return null;
  return (
    <p class="panel-note adding-up" role="status">
      Adding up… <progress value={part} max={1} aria-label="Adding up" /> {Math.round(part * 100)} %
    </p>
  );
}

function Totals({ rows }: { rows: readonly UsageRow[] }) {
  const total: UsageSums = rows.reduce<UsageSums>((sum, row) => added(sum, row), {});
  const tiles = [
    ["Cost", costs(total.costs) || "not reported"],
    ["Tokens", `${compact(tokensOf(total))}`, `${count(total.inputTokens)} read, ${count(total.outputTokens)} written`],
    ["Calls of models", count(total.calls), plural(new Set(rows.map(({ model }) => model)).size, "model")],
  ] as const;
  return (
    <dl class="tiles" aria-label="In all">
      {tiles.map(([name, value, more]) => (
        <div key={name} class="tile">
          <dt>{name}</dt>
          <dd>
            <strong>{value}</strong> {more && <span class="muted">{more}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
