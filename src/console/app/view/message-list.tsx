import { ArrowDown } from "lucide";
import { useEffect, useRef } from "preact/hooks";
import type { Draft } from "../api/types.js";
import type { Conversation } from "../state/conversation.js";
import { jump } from "../state/ui.js";
import { plural } from "../text/format.js";
import { DraftRow } from "./draft-row.js";
import { Icon } from "./icon.js";
import { MessageRow } from "./message-row.js";
import { MessageBoundary } from "./parts/message-boundary.js";
import { useHeld } from "./use-held.js";
import { END_PX, useListPosition } from "./use-list-position.js";
import { useVirtualizer } from "./use-virtualizer.js";

/** The assumed height of a message before it has been measured. */
const ESTIMATED_PX = 110;
/** Chromium lays out nothing beyond 33 million pixels, Firefox nothing beyond 17 million. */
const MAX_ROWS = 120_000;
const BASE_STEP = 10_000;
/** Pages are read once the reader pauses, so that dragging the scroll bar requests nothing on its way. */
const SETTLE_MS = 60;

/**
 * Position of the first row. For a very long session, the list holds only the last messages. It moves in large steps,
 * because rows keep their measured sizes.
 */
function baseOf(count: number): number {
  return Math.ceil(Math.max(0, count - MAX_ROWS) / BASE_STEP) * BASE_STEP;
}

/** All messages of a session, of which only those near the screen are in memory and on the page. */
export function MessageList({ conversation }: { conversation: Conversation }) {
  const { history, drafts } = conversation;
  const scroller = useRef<HTMLDivElement>(null);
  const open = drafts.open.value;
  const base = baseOf(history.count.value);
  const count = history.count.value - base;
  void history.version.value;
  const { isHolding, hold, release } = useHeld(scroller);
  const list = useVirtualizer({
    count: count + open.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ESTIMATED_PX,
    overscan: 6,
    anchorTo: isHolding ? "start" : "end",
    followOnAppend: true,
    scrollEndThreshold: END_PX,
    paddingStart: 16,
    paddingEnd: 32,
  });
  const { isAtEnd, unseen } = useListPosition(conversation, list, base, release);
  const items = list.getVirtualItems();
  const first = items[0]?.index ?? 0;
  const last = items.at(-1)?.index ?? 0;
  const isMissing = items.some(({ index }) => index < count && history.get(base + index) === undefined);

  useMissingPages(conversation, isMissing, base + first, base + last);

  return (
    <div class="messages">
      <section
        class="scroller"
        ref={scroller}
        tabindex={0}
        aria-label="Messages"
        aria-busy={isMissing}
        onClickCapture={hold}
        onWheel={release}
        onTouchMove={release}
      >
        <div class="rows" style={{ height: `${list.getTotalSize()}px` }}>
          {items.map(({ index, key, start }) => (
            <div
              key={key}
              class="row"
              data-index={index}
              ref={list.measureElement}
              style={{ transform: `translateY(${start}px)` }}
            >
              {index < count ? (
                <MessageAt conversation={conversation} position={base + index} />
              ) : (
                <DraftAt conversation={conversation} draft={open[index - count] as Draft} />
              )}
            </div>
          ))}
        </div>
        {count + open.length === 0 && conversation.live.value !== "loading" && (
          <p class="empty">No messages yet. New messages appear here at once.</p>
        )}
      </section>
      {!isAtEnd && count > 0 && <EndPill unseen={unseen} />}
    </div>
  );
}

function MessageAt({ conversation, position }: { conversation: Conversation; position: number }) {
  const { history, session } = conversation;
  // Preact renders a component that reads signals only when its own signals or properties change.
  void history.version.value;
  const message = history.get(position);
  return (
    <MessageBoundary message={message} position={position}>
      <MessageRow
        conversation={conversation}
        position={position}
        message={message}
        previous={history.get(position - 1)}
        session={session.value}
      />
    </MessageBoundary>
  );
}

function DraftAt({ conversation, draft }: { conversation: Conversation; draft: Draft }) {
  return (
    <MessageBoundary message={draft.message}>
      <DraftRow conversation={conversation} draft={draft} />
    </MessageBoundary>
  );
}

/** Reads the pages that the messages from `first` to `last` are on, when some of them are missing. */
function useMissingPages({ history, live }: Conversation, isMissing: boolean, first: number, last: number): void {
  useEffect(() => {
    if (!isMissing) return;
    // A page that cannot be read is requested again when the reader scrolls or the connection is back.
    const timer = setTimeout(() => void history.ensure(first, last).catch(() => undefined), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [isMissing, first, last, history, live.value]);
}

function EndPill({ unseen }: { unseen: number }) {
  return (
    <button type="button" class="pill" onClick={() => (jump.value = { to: "end" })}>
      <Icon node={ArrowDown} />
      {unseen > 0 ? plural(unseen, "new message") : "To the end"}
    </button>
  );
}
