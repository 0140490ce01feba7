import type { ComponentChildren, InputHTMLAttributes } from "preact";
import { useEffect, useState } from "preact/hooks";
import { rangeOf, TIME_NAMES, TIMES, type TimeName, type TimeRange, timeNameOf } from "../state/times.js";

const TYPING_MS = 400;

/** What the field for an owner is called on every page. */
export const OWNER = "Owner of the session";

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
  readonly filter: TimeRange;
  readonly onChoose: (range: TimeRange) => void;
  readonly children?: ComponentChildren;
}

/** Times to choose with one click. */
export function Ranges({ label, filter, onChoose, children }: RangesProps) {
  // The last hour is another one a minute later, and the one that was chosen stays in the fields.
  const [chosen, setChosen] = useState<(TimeRange & { readonly name: TimeName }) | undefined>();
  const isChosen = chosen?.since === filter.since && chosen.until === filter.until;
  const pressed = isChosen ? chosen.name : timeNameOf(filter);
  const choose = (name: TimeName) => {
    const range = rangeOf(name);
    setChosen({ name, ...range });
    onChoose(range);
  };
  return (
    <div class="filter-chips" role="group" aria-label={label}>
      {TIME_NAMES.map((name) => (
        <button
          key={name}
          type="button"
          class="chip chip-action"
          aria-pressed={name === pressed}
          onClick={() => choose(name)}
        >
          {TIMES[name].label}
        </button>
      ))}
      {children}
    </div>
  );
}
