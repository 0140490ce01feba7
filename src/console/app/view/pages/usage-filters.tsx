import { useEffect, useState } from "preact/hooks";
import type { UsageFilter, UsageReport } from "../../state/usage-report.js";
import { startOfDay } from "../../text/format.js";
import { localTime } from "./session-filters.js";

const TYPING_MS = 500;
const RANGES = [
  ["Today", 0],
  ["7 days", 6],
  ["30 days", 29],
  ["90 days", 89],
] as const;

/** Which time, and whose calls. */
export function UsageFilters({ report, filter }: { report: UsageReport; filter: UsageFilter }) {
  const [typed, setTyped] = useState(filter);
  useEffect(() => setTyped(filter), [filter]);
  useEffect(() => {
    if (JSON.stringify(typed) === JSON.stringify(report.filter.peek())) return;
    const timer = setTimeout(() => report.begin(typed), TYPING_MS);
    return () => clearTimeout(timer);
  }, [report, typed]);
  const field = (name: keyof UsageFilter, label: string, more: object = {}) => (
    <label class="filter">
      {label}
      <input
        class="field"
        autocomplete="off"
        value={typed[name]}
        onInput={({ currentTarget }) => setTyped({ ...typed, [name]: currentTarget.value })}
        {...more}
      />
    </label>
  );
  return (
    <search class="page-filters">
      {field("since", "Since", { type: "datetime-local" })}
      {field("until", "Before", { type: "datetime-local" })}
      {field("owner", "Owner", { title: 'Write "" for sessions without an owner' })}
      {field("labels", "Labels", { placeholder: "key=value" })}
      {field("model", "Model")}
      <div class="filter-chips" role="group" aria-label="Time">
        {RANGES.map(([label, days]) => {
          const since = localTime(startOfDay(new Date(), days));
          return (
            <button
              key={label}
              type="button"
              class="chip chip-action"
              aria-pressed={filter.since === since && filter.until === ""}
              onClick={() => report.begin({ ...typed, since, until: "" })}
            >
              {label}
            </button>
          );
        })}
      </div>
    </search>
  );
}
