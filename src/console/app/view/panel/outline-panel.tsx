import { effect, untracked } from "@preact/signals";
import { CircleAlert, User } from "lucide";
import { useEffect, useMemo } from "preact/hooks";
import type { CallIndex } from "../../parts/call-index.js";
import type { Conversation } from "../../state/conversation.js";
import { Outline, type OutlineEntry } from "../../state/outline.js";
import { jump, leavePanel } from "../../state/ui.js";
import { clock, count, dayOf, plural } from "../../text/format.js";
import { Icon } from "../icon.js";
import { NoText } from "../no-text.js";
import { Said } from "../said.js";
import { FeedbackList } from "./feedback-list.js";

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
  useEffect(() => {
    let isFirst = true;
    const stopTaking = effect(() => {
      const edit = history.edit.value;
      // The newest edit was before the outline.
      if (!isFirst && edit !== undefined) untracked(() => outline.take(edit));
      isFirst = false;
    });
    return () => {
      stopTaking();
      outline.stop();
    };
  }, [outline, history]);

  const isLive = conversation.live.value === "live";
  // A read that failed is repeated when the connection is back.
  useEffect(() => {
    if (isLive && outline.walk.error.peek() !== undefined) void outline.read();
  }, [outline, isLive]);

  const failed = outline.entries.value.filter(({ kind }) => kind === "failed");
  const asked = outline.entries.value.filter(({ kind }) => kind === "asked");
  const first = outline.first.value;
  const isReading = outline.walk.isReading.value;
  const readTo = outline.readTo.value ?? 0;
  return (
    <>
      <Summary outline={outline} total={total} asked={asked.length} failed={failed.length} />
      <FeedbackList conversation={conversation} />
      {failed.length > 0 && (
        <section>
          <h3>What failed</h3>
          <EntryList entries={failed} calls={history.calls} />
        </section>
      )}
      {readTo > 0 && first && (
        <section>
          <h3>What was asked first</h3>
          <EntryList entries={[first]} calls={history.calls} />
        </section>
      )}
      <section>
        {asked.length > 0 && <h3>What was asked</h3>}
        {readTo > 0 && (
          <button type="button" class="fold" disabled={isReading} onClick={() => outline.readFurther()}>
            {isReading ? `Reading, back to #${count(outline.walk.readTo.value)}` : `Read on before #${count(readTo)}`}
          </button>
        )}
        <EntryList entries={asked} calls={history.calls} />
      </section>
    </>
  );
}

/** How much was asked and failed, or why that is not known. */
function Summary(props: { outline: Outline; total: number; asked: number; failed: number }) {
  const { outline, total, asked, failed } = props;
  const error = outline.walk.error.value;
  const readTo = outline.readTo.value;
  if (error !== undefined) {
    return <Said what="failed" error={error} onRetry={() => void outline.read()} />;
  }
  if (readTo === undefined) return <Said what="loading" />;
  // Numbers that grow while they are read would be taken for the answer.
  if (outline.isGrowing.value)
    return <Said what="loading">Still reading, back to #{count(outline.walk.readTo.value ?? readTo)}</Said>;
  return (
    <p class="panel-note">
      {plural(asked, "request")},{" "}
      <strong class={failed > 0 ? "bad" : "good"}>{failed > 0 ? plural(failed, "failure") : "nothing failed"}</strong>
      {readTo > 0 && ` in the last ${plural(total - readTo, "message")}`}
    </p>
  );
}

function EntryList({ entries, calls }: { entries: readonly OutlineEntry[]; calls: CallIndex }) {
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
              {entry.kind === "failed" && entry.name && <strong>{nameOf(entry, calls)} </strong>}
              {entry.text || <NoText />}
              <span class="muted entry-place">
                <bdi dir="ltr">
                  #{entry.position} · {dayOf(entry.timestamp)} {clock(entry.timestamp)}
                </bdi>
              </span>
            </span>
          </button>
        </li>
      ))}
    </ol>
  );
}

/** The tool that failed, by the messages that have been loaded if the outline has not read the call. */
function nameOf({ name, callId }: Extract<OutlineEntry, { kind: "failed" }>, calls: CallIndex): string {
  return (callId && calls.call(callId)?.call.name) || name;
}
