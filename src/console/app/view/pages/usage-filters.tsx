import type { UsageFilter, UsageReport } from "../../state/usage-report.js";
import { OWNER, Ranges, useFilterFields } from "../filter-fields.js";

/** Which time, and whose calls. */
export function UsageFilters({ report, filter }: { report: UsageReport; filter: UsageFilter }) {
  const { typed, field } = useFilterFields(filter, (changed) => report.begin(changed));
  return (
    <search class="page-filters">
      {field("since", "Since", { type: "datetime-local" })}
      {field("until", "Before", { type: "datetime-local" })}
      {field("owner", OWNER, { title: 'Write "" for sessions without an owner' })}
      {field("labels", "Labels", { placeholder: "key=value" })}
      {field("model", "Model")}
      <Ranges label="Time" filter={filter} onChoose={(range) => report.begin({ ...typed, ...range })} />
    </search>
  );
}
