import { useEffect, useState } from "preact/hooks";
import { ALL, ORDERS, type Order, queryOf, type SessionTable, type TableFilter } from "../../state/session-table.js";
import { startOfDay } from "../../text/format.js";

const TYPING_MS = 400;

/** What the table is filtered and ordered by. */
export function SessionFilters({ table }: { table: SessionTable }) {
  const applied = table.filter.value;
  const [typed, setTyped] = useState(applied);
  useEffect(() => setTyped(applied), [applied]);
  useEffect(() => {
    if (queryOf(typed) === queryOf(table.filter.peek())) return;
    const timer = setTimeout(() => table.begin(typed), TYPING_MS);
    return () => clearTimeout(timer);
  }, [table, typed]);
  const field = (name: keyof TableFilter, label: string, more: object = {}) => (
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
  const isFiltered = queryOf({ ...applied, order: ALL.order }) !== "";
  return (
    <search class="page-filters">
      {field("title", "Words of the title", { type: "search" })}
      {field("owner", "Owner", { title: 'Write "" for sessions without an owner' })}
      {field("labels", "Labels", { placeholder: "key=value" })}
      {field("since", "Changed since", { type: "datetime-local" })}
      {field("until", "Changed before", { type: "datetime-local" })}
      <label class="filter">
        Order
        <select
          class="field"
          value={applied.order}
          onChange={({ currentTarget }) => table.begin({ ...typed, order: currentTarget.value as Order })}
        >
          {Object.entries(ORDERS).map(([order, label]) => (
            <option key={order} value={order}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <div class="filter-chips" role="group" aria-label="Changed">
        {RANGES.map(([label, days]) => (
          <button
            key={label}
            type="button"
            class="chip chip-action"
            onClick={() => table.begin({ ...typed, since: localTime(startOfDay(new Date(), days)), until: "" })}
          >
            {label}
          </button>
        ))}
        {isFiltered && (
          <button type="button" class="chip chip-action" onClick={() => table.begin({ ...ALL, order: applied.order })}>
            Without filters
          </button>
        )}
      </div>
    </search>
  );
}

const RANGES = [
  ["Since yesterday", 1],
  ["7 days", 7],
  ["30 days", 30],
] as const;

/** A time as a field of the kind `datetime-local` has it. */
export function localTime(at: Date): string {
  const shifted = new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 16);
}
