import { Bot, ChevronLeft, ChevronRight, Wrench } from "lucide";
import { useEffect, useMemo } from "preact/hooks";
import { withoutPiles } from "../../../../parts/piles.js";
import type { Conversation } from "../../state/conversation.js";
import { usageLine } from "../../state/message-usage.js";
import { type Bar, Timeline, type Turn } from "../../state/timeline.js";
import { jump, leavePanel, selected } from "../../state/ui.js";
import { clock, dayOf, duration, plural } from "../../text/format.js";
import { Icon, IconButton } from "../icon.js";
import { Said } from "../said.js";

/** How long after a change the turn is reckoned again. */
const AGAIN_MS = 300;

/** What ran during one turn, when and for how long. It follows the message that is selected. */
export function TimelinePanel({ conversation }: { conversation: Conversation }) {
  const { history } = conversation;
  const timeline = useMemo(() => new Timeline(history), [history]);
  const last = history.count.value - 1;
  const position = Math.min(selected.value ?? last, last);
  const version = history.version.value;
  useEffect(() => {
    if (position < 0) return;
    const timer = setTimeout(() => void timeline.read(position), timeline.turn.peek() === undefined ? 0 : AGAIN_MS);
    return () => clearTimeout(timer);
  }, [timeline, position, version]);
  const turn = timeline.turn.value;
  if (last < 0) return <Said what="empty">No messages yet.</Said>;
  if (timeline.error.value !== undefined) {
    return <Said what="failed" error={timeline.error.value} onRetry={() => void timeline.read(position)} />;
  }
  if (turn === undefined) return <Said what="loading" />;
  return (
    <>
      <TurnHead turn={turn} last={last} />
      {turn.bars.length === 0 && <Said what="empty">Nothing ran in this turn.</Said>}
      <ol class="bars">
        {turn.bars.map((bar, i) => (
          <BarLine key={i} bar={bar} turn={turn} />
        ))}
      </ol>
      {turn.bars.some(({ isEstimate }) => isEstimate) && (
        <p class="panel-note">≈ reckoned from the times of messages, because no time was reported.</p>
      )}
      {turn.isCut && <p class="panel-note">This turn has more messages than are shown here.</p>}
    </>
  );
}

function TurnHead({ turn, last }: { turn: Turn; last: number }) {
  const { first, startMs, endMs, bars } = turn;
  const at = new Date(startMs).toISOString();
  const models = bars.filter(({ kind }) => kind === "model");
  const tools = bars.filter(({ kind }) => kind === "tool");
  const sum = (all: readonly Bar[]) => duration(all.reduce((ms, bar) => ms + bar.endMs - bar.startMs, 0));
  return (
    <>
      <div class="turn-head">
        <IconButton
          node={ChevronLeft}
          label="Turn before"
          disabled={first === 0}
          onClick={() => (jump.value = { to: first - 1 })}
        />
        <strong>
          #{first} to #{turn.last}
        </strong>
        <IconButton
          node={ChevronRight}
          label="Turn after"
          disabled={turn.last >= last}
          onClick={() => (jump.value = { to: turn.last + 1 })}
        />
      </div>
      <p class="panel-note">
        {dayOf(at)} {clock(at)}, {duration(endMs - startMs)} in all. {plural(models.length, "call")} of models:{" "}
        {sum(models)}; {plural(tools.length, "call")} of tools: {sum(tools)}.
      </p>
    </>
  );
}

function BarLine({ bar, turn }: { bar: Bar; turn: Turn }) {
  const { kind, name, position, startMs, endMs, firstTokenMs, status, usage, isEstimate } = bar;
  const length = Math.max(1, turn.endMs - turn.startMs);
  const percent = (ms: number) => `${((100 * ms) / length).toFixed(3)}%`;
  const took = `${isEstimate ? "≈ " : ""}${duration(endMs - startMs)}`;
  const after = duration(startMs - turn.startMs);
  const hasFailed = status === "failed" || status === "denied";
  const about = [`begins after ${after}`, usage && usageLine(usage)].filter(Boolean).join(", ");
  return (
    <li>
      <button
        type="button"
        class={`bar-line ${hasFailed ? "bar-failed" : ""}`}
        title={about}
        onClick={() => {
          jump.value = { to: position };
          leavePanel();
        }}
      >
        <span class="bar-name">
          <Icon node={kind === "model" ? Bot : Wrench} size={13} />
          <span class="cut">{withoutPiles(name)}</span>
          <span class="muted">
            {hasFailed && <span class="bad">{status} </span>}
            {took}
            <span class="unseen">, {about}</span>
          </span>
        </span>
        <span class="bar-track">
          <span
            class={`bar bar-${kind} ${isEstimate ? "bar-estimate" : ""}`}
            style={{ insetInlineStart: percent(startMs - turn.startMs), width: percent(endMs - startMs) }}
          >
            {firstTokenMs !== undefined && firstTokenMs > startMs && (
              <span
                class="bar-waiting"
                style={{ width: `${Math.min(100, (100 * (firstTokenMs - startMs)) / Math.max(1, endMs - startMs))}%` }}
              />
            )}
          </span>
        </span>
      </button>
    </li>
  );
}
