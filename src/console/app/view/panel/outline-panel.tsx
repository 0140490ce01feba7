import { CircleAlert, User } from "lucide";
import { useEffect, useMemo } from "preact/hooks";
import type { Conversation } from "../../state/conversation.js";
import { Outline, type OutlineEntry } from "../../state/outline.js";
import { reasonOf } from "../../state/toasts.js";
import { jump, leavePanel } from "../../state/ui.js";
import { clock, count, dayOf, plural } from "../../text/format.js";
import { Icon } from "../icon.js";

/** How long after a change the outline is read again. */
const AGAIN_MS = 1500;

/** What was asked and what failed, in order; each leads to its place. */
export function OutlinePanel({ conversation }: { conversation: Conversation }) {
  const outline = useMemo(() => new Outline(conversation.sessionId), [conversation]);
  const { history } = conversation;
  const total = history.count.value;
  const epoch = history.epoch.value;
  useEffect(() => {
    const timer = setTimeout(() => void outline.read(), outline.readTo.peek() === undefined ? 0 : AGAIN_MS);
    return () => clearTimeout(timer);
  }, [outline, total, epoch]);
  useEffect(() => () => outline.stop(), [outline]);

  const entries = outline.entries.value;
  const failed = entries.filter(({ kind }) => kind === "failed");
  const asked = entries.length - failed.length;
  const readTo = outline.readTo.value;
  return (
    <>
      <p class="panel-note">
        {plural(asked, "request")},{" "}
        <strong class={failed.length > 0 ? "bad" : "good"}>
          {failed.length > 0 ? `${plural(failed.length, "failure")}` : "nothing failed"}
        </strong>
        {readTo !== undefined && readTo > 0 && ` in the last ${plural(total - readTo, "message")}`}
      </p>
      {failed.length > 0 && (
        <section>
          <h3>What failed</h3>
          <EntryList entries={failed} />
        </section>
      )}
      {readTo !== undefined && readTo > 0 && outline.first.value && (
        <section>
          <h3>What was asked first</h3>
          <EntryList entries={[outline.first.value]} />
        </section>
      )}
      <section>
        <h3>What was asked</h3>
        {readTo !== undefined && readTo > 0 && (
          <button
            type="button"
            class="fold"
            disabled={outline.walk.isReading.value}
            onClick={() => outline.readFurther()}
          >
            {outline.walk.isReading.value
              ? `Reading, back to #${count(outline.walk.readTo.value)}`
              : `Read on before #${count(readTo)}`}
          </button>
        )}
        {outline.walk.error.value !== undefined && <p class="bad">{reasonOf(outline.walk.error.value)}</p>}
        <EntryList entries={entries.filter(({ kind }) => kind === "asked")} />
      </section>
    </>
  );
}

function EntryList({ entries }: { entries: readonly OutlineEntry[] }) {
  return (
    <ol class="entries">
      {entries.map((entry, i) => (
        <li key={i} class={`entry entry-${entry.kind}`}>
          <button
            type="button"
            onClick={() => {
              jump.value = { to: entry.position };
              leavePanel();
            }}
          >
            <Icon node={entry.kind === "asked" ? User : CircleAlert} />
            <span class="entry-text" dir="auto">
              {entry.kind === "failed" && entry.name && <strong>{entry.name} </strong>}
              {entry.text || "(no text)"}
              <span class="muted entry-place">
                #{entry.position} · {dayOf(entry.timestamp)} {clock(entry.timestamp)}
              </span>
            </span>
          </button>
        </li>
      ))}
    </ol>
  );
}
