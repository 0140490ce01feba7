import { useState } from "preact/hooks";
import type { Json } from "../../api/types.js";

/** How many entries of one object or array are rendered at once. */
const STEP = 100;
const LONG_TEXT = 300;

/** JSON as a tree that opens level by level. */
export function JsonTree({ value, open = true }: { value: Json; open?: boolean }) {
  return (
    <div class="json" dir="ltr">
      <Node value={value} isOpen={open} />
    </div>
  );
}

function Node({ name, value, isOpen }: { name?: string; value: Json; isOpen: boolean }) {
  if (typeof value !== "object" || value === null) {
    return (
      <div class="json-row">
        <Name name={name} />
        <Scalar value={value} />
      </div>
    );
  }
  return <Branch name={name} value={value} isOpen={isOpen} />;
}

function Branch({
  name,
  value,
  isOpen,
}: {
  name: string | undefined;
  value: Json[] | { [name: string]: Json };
  isOpen: boolean;
}) {
  const [open, setOpen] = useState(isOpen);
  const [shown, setShown] = useState(STEP);
  const entries = Object.entries(value);
  const [left, right] = Array.isArray(value) ? "[]" : "{}";
  if (entries.length === 0) {
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
        <span class="muted">{`${left}${open ? "" : ` ${entries.length} `}${open ? "" : right}`}</span>
      </summary>
      {open && (
        <div class="json-children">
          {entries.slice(0, shown).map(([key, child]) => (
            <Node key={key} name={key} value={child} isOpen={entries.length < 12 && !isLarge(child)} />
          ))}
          {shown < entries.length && (
            <button type="button" class="fold" onClick={() => setShown(shown + STEP)}>
              {`${entries.length - shown} more`}
            </button>
          )}
        </div>
      )}
    </details>
  );
}

function isLarge(value: Json): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length > 8;
}

function Name({ name }: { name: string | undefined }) {
  return name === undefined ? null : <span class="json-name">{name}: </span>;
}

function Scalar({ value }: { value: null | boolean | number | string }) {
  const [open, setOpen] = useState(false);
  if (typeof value !== "string")
    return <span class={`json-${value === null ? "null" : typeof value}`}>{String(value)}</span>;
  if (value.length <= LONG_TEXT)
    return <span class="json-string">{value.includes("\n") ? value : JSON.stringify(value)}</span>;
  return (
    <span class="json-string">
      {open ? value : `${value.slice(0, LONG_TEXT)}… `}
      <button type="button" class="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? "Less" : "More"}
      </button>
    </span>
  );
}
