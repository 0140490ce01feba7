import { useMemo, useState } from "preact/hooks";
import { withoutPiles } from "../../../../parts/piles.js";
import type { Json } from "../../api/types.js";
import { type Branch, childrenOf, Digits, isBranch, openAtFirst, shownValue, sizeOf } from "../../parts/json-branch.js";

/** How many entries of one object or array are rendered at once. */
const STEP = 100;
const LONG_TEXT = 300;
const NONE: ReadonlySet<Branch> = new Set();

/** JSON as a tree that opens level by level. */
export function JsonTree({ value, open = true }: { value: Json; open?: boolean }) {
  const opened = useMemo(() => (open && isBranch(value) ? openAtFirst(value) : NONE), [value, open]);
  return (
    <div class="json" dir="ltr">
      <Node value={value} opened={opened} />
    </div>
  );
}

function Node({ name, value, opened }: { name?: string; value: Json; opened: ReadonlySet<Branch> }) {
  const shown = shownValue(value);
  const isDigits = shown instanceof Digits;
  if (!isDigits && isBranch(shown)) return <BranchNode name={name} value={shown} opened={opened} />;
  return (
    <div class="json-row">
      <Name name={name} />
      {isDigits ? <span class="json-number">{shown.text}</span> : <Scalar value={shown} />}
    </div>
  );
}

function BranchNode({ name, value, opened }: { name: string | undefined; value: Branch; opened: ReadonlySet<Branch> }) {
  const [open, setOpen] = useState(opened.has(value));
  const [shown, setShown] = useState(STEP);
  // A branch that the reader opens shows its own first levels.
  const openedInside = useMemo(() => (!open || opened.has(value) ? opened : openAtFirst(value)), [value, open, opened]);
  const size = sizeOf(value);
  const [left, right] = Array.isArray(value) ? "[]" : "{}";
  if (size === 0) {
    return (
      <div class="json-row">
        <Name name={name} />
        <span class="muted">{`${left}${right}`}</span>
      </div>
    );
  }
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Name name={name} />
        <span class="muted">{`${left}${open ? "" : ` ${size} `}${open ? "" : right}`}</span>
      </summary>
      {open && (
        <div class="json-children">
          {childrenOf(value, shown).map(([key, child]) => (
            <Node key={key} name={key} value={child} opened={openedInside} />
          ))}
          {shown < size && (
            <button type="button" class="fold" onClick={() => setShown(shown + STEP)}>
              {`${size - shown} more`}
            </button>
          )}
        </div>
      )}
    </details>
  );
}

function Name({ name }: { name: string | undefined }) {
  return name === undefined ? null : <span class="json-name">{withoutPiles(name)}: </span>;
}

function Scalar({ value }: { value: null | boolean | number | string }) {
  const [open, setOpen] = useState(false);
  if (typeof value !== "string")
    return <span class={`json-${value === null ? "null" : typeof value}`}>{String(value)}</span>;
  if (value.length <= LONG_TEXT)
    return <span class="json-string">{value.includes("\n") ? value : JSON.stringify(value)}</span>;
  return (
    <span class="json-string">
      {open ? withoutPiles(value) : `${withoutPiles(value.slice(0, LONG_TEXT))}… `}
      <button type="button" class="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? "Less" : "More"}
      </button>
    </span>
  );
}
