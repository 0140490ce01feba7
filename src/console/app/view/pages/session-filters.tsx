import { queryFrom } from "../../state/filter-texts.js";
import { linkTo } from "../../state/route.js";
import { ALL, ORDERS, type Order, queryOf, type SessionTable, SIZES } from "../../state/session-table.js";
import { OWNER, Ranges, useFilterFields } from "../filter-fields.js";

const SIZE_LABELS = Object.entries(SIZES).map(([order, { label }]) => [order, label] as const);

/** What the table is filtered and ordered by. */
export function SessionFilters({ table }: { table: SessionTable }) {
  const applied = table.filter.value;
  const { typed, field } = useFilterFields(applied, (filter) => table.begin(filter));
  const { owner, since, until, title, labels } = applied;
  const said = { role: "user", owner, since, until };
  // The list of messages knows neither titles nor labels.
  const hasSaid = (owner !== "" || since !== "") && title === "" && labels === "";
  const isFiltered = queryOf({ ...applied, order: ALL.order }) !== "";
  return (
    <search class="page-filters">
      {field("title", "Words of the title", { type: "search" })}
      {field("owner", OWNER, { title: 'Write "" for sessions without an owner' })}
      {field("labels", "Labels", { placeholder: "key=value" })}
      <label class="filter">
        Order
        <select
          class="field"
          value={applied.order}
          onChange={({ currentTarget }) => table.begin({ ...typed, order: currentTarget.value as Order })}
        >
          {[...Object.entries(ORDERS), ...SIZE_LABELS].map(([order, label]) => (
            <option key={order} value={order}>
              {label}
            </option>
          ))}
        </select>
      </label>
      {field("since", "Changed since", { type: "datetime-local" })}
      {field("until", "Changed before", { type: "datetime-local" })}
      <Ranges label="Changed" filter={applied} onChoose={(range) => table.begin({ ...typed, ...range })}>
        {hasSaid && (
          <a class="chip chip-action" href={linkTo({ view: "search", query: queryFrom(said) })}>
            What users asked
          </a>
        )}
        {isFiltered && (
          <button type="button" class="chip chip-action" onClick={() => table.begin({ ...ALL, order: applied.order })}>
            Without filters
          </button>
        )}
      </Ranges>
    </search>
  );
}
