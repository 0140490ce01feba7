import type { ComponentChildren, InputHTMLAttributes } from "preact";
import { useEffect, useState } from "preact/hooks";
import { localTime, startOfDay } from "../text/format.js";

const TYPING_MS = 400;

/** Times that readers ask for, each with how many days before today it begins. */
const RANGES = [
  ["Today", 0],
  ["Since yesterday", 1],
  ["7 days", 6],
  ["30 days", 29],
  ["90 days", 89],
] as const;

type Texts<Filter> = { readonly [Name in keyof Filter]: string };

/** Makes the fields of a filter by their names. */
export function fieldOf<Filter extends Texts<Filter>>(typed: Filter, onType: (filter: Filter) => void) {
  return (name: keyof Filter, label: string, more: InputHTMLAttributes = {}) => (
    <label class={more.type === "datetime-local" ? "filter filter-time" : "filter"}>
      {label}
      <input
        class="field"
        autocomplete="off"
        value={typed[name]}
        onInput={({ currentTarget }) => onType({ ...typed, [name]: currentTarget.value })}
        {...more}
      />
    </label>
  );
}

/** The fields of a filter, and what stands in them. What is typed is applied after a pause. */
export function useFilterFields<Filter extends Texts<Filter>>(applied: Filter, apply: (filter: Filter) => void) {
  const [typed, setTyped] = useState(applied);
  useEffect(() => setTyped(applied), [applied]);
  useEffect(() => {
    if (JSON.stringify(typed) === JSON.stringify(applied)) return;
    const timer = setTimeout(() => apply(typed), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return { typed, field: fieldOf(typed, setTyped) };
}

interface RangesProps {
  /** What the times are of. */
  readonly label: string;
  readonly filter: { readonly since: string; readonly until: string };
  readonly onChoose: (range: { readonly since: string; readonly until: string }) => void;
  readonly children?: ComponentChildren;
}

/** Times to choose with one click. */
export function Ranges({ label, filter, onChoose, children }: RangesProps) {
  return (
    <div class="filter-chips" role="group" aria-label={label}>
      {RANGES.map(([name, days]) => {
        const since = localTime(startOfDay(new Date(), days));
        return (
          <button
            key={name}
            type="button"
            class="chip chip-action"
            aria-pressed={filter.since === since && filter.until === ""}
            onClick={() => onChoose({ since, until: "" })}
          >
            {name}
          </button>
        );
      })}
      {children}
    </div>
  );
}
