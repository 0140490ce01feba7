import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { withoutPiles } from "../../../../parts/piles.js";
import { plural } from "../../text/format.js";

/** How many lines of an output are shown before it is opened. */
const FOLD_LINES = 20;
/** How many characters of one output are rendered at once. */
const MAX_CHARACTERS = 200_000;

/** A long text, of which the first lines are shown and the rest on demand. */
export function Foldable({ text, children }: { text: string; children?: (shown: string) => ComponentChildren }) {
  const [open, setOpen] = useState(false);
  const lines = countLines(text);
  const isLong = lines > FOLD_LINES || text.length > FOLD_LINES * 400;
  const shown = withoutPiles(!isLong ? text : open ? text.slice(0, MAX_CHARACTERS) : head(text));
  return (
    <>
      {children ? (
        children(shown)
      ) : (
        <pre class="output" dir="auto" tabindex={0}>
          {shown}
        </pre>
      )}
      {isLong && (
        <button type="button" class="fold" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Show less" : `Show all ${plural(lines, "line")}`}
        </button>
      )}
      {open && text.length > MAX_CHARACTERS && <p class="muted">The rest is in the raw view and in the export.</p>}
    </>
  );
}

function head(text: string): string {
  let end = -1;
  for (let line = 0; line < FOLD_LINES; line++) {
    const next = text.indexOf("\n", end + 1);
    if (next === -1) {
      end = text.length;
      break;
    }
    end = next;
  }
  return text.slice(0, Math.min(end, FOLD_LINES * 400));
}

export function countLines(text: string): number {
  let lines = 1;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines++;
  return text.endsWith("\n") ? lines - 1 : lines;
}
