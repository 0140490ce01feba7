import { useComputed } from "@preact/signals";
import { Bot, Ellipsis, Gauge, GitFork, Settings, User, Wrench } from "lucide";
import { memo } from "preact/compat";
import { useState } from "preact/hooks";
import { withoutPiles } from "../../../parts/piles.js";
import { viewsOf } from "../../../parts/recognise.js";
import type { Message, Session } from "../api/types.js";
import { usageOf } from "../parts/usage.js";
import { titleOf } from "../state/actions.js";
import type { Conversation } from "../state/conversation.js";
import { usageDetails, usageLine } from "../state/message-usage.js";
import { linkTo, sessionLink } from "../state/route.js";
import { sessionById } from "../state/session-list.js";
import { hovered, jump, panel, selected, toolsOpened } from "../state/ui.js";
import { clock, dayOf, whole } from "../text/format.js";
import { Icon, IconButton } from "./icon.js";
import { MessageTools } from "./message-tools.js";
import { NoText } from "./no-text.js";
import { Notes } from "./notes.js";
import { JsonTree } from "./parts/json-tree.js";
import { PartList } from "./parts/part-list.js";
import { touchOnly } from "./touch.js";

interface RowProps {
  readonly conversation: Conversation;
  readonly position: number;
  readonly message: Message | undefined;
  readonly previous: Message | undefined;
  readonly session: Session | undefined;
}

const SHOWN_FORKS = 4;
const ICONS = new Map(Object.entries({ user: User, assistant: Bot, tool: Wrench, system: Settings }));

/** One message, with what separates it from the one before. */
export const MessageRow = memo(function MessageRow({ conversation, position, message, previous, session }: RowProps) {
  const [isRaw, setRaw] = useState(false);
  const isSelected = useComputed(() => selected.value === position).value;
  const hasTools = useComputed(() => selected.value === position || hovered.value === position).value;
  if (message === undefined) return <div class="skeleton" aria-hidden="true" />;
  const { info } = message;
  const day = dayOf(info.timestamp);
  const isNewDay = previous ? dayOf(previous.info.timestamp) !== day : position === 0;
  const isNewSpeaker = isNewDay || previous === undefined || speaker(previous.info.role) !== speaker(info.role);
  const inherited = Number(session?.inheritedCount ?? 0);
  return (
    <>
      {isNewDay && (
        <div class="day">
          <span>{day}</span>
        </div>
      )}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: by the keyboard, j and k select. */}
      <article
        class="message"
        data-role={info.role}
        data-id={info.id}
        data-position={position}
        aria-posinset={position + 1}
        aria-setsize={conversation.history.count.value}
        aria-label={`${info.role}, message ${position}`}
        aria-current={isSelected ? "true" : undefined}
        tabindex={-1}
        onClick={({ target, currentTarget }) => {
          selected.value = position;
          // What a button opens stays where it is.
          if (touchOnly.matches && !(target as Element).closest("a, button, input, summary"))
            toolsOpened.value = currentTarget;
        }}
        onPointerEnter={({ pointerType }) => {
          // On touch screens the tools take up space of their own, so they appear only after a tap.
          if (pointerType === "mouse" && !touchOnly.matches) hovered.value = position;
        }}
        onPointerLeave={() => {
          if (hovered.value === position) hovered.value = undefined;
        }}
      >
        {(isNewSpeaker || isInterrupted(info)) && <Head info={info} />}
        <div class="message-body">
          {isRaw ? (
            <JsonTree value={JSON.parse(JSON.stringify(message))} />
          ) : (
            <Parts message={message} position={position} conversation={conversation} />
          )}
        </div>
        <div class="message-foot">
          <UsageLine message={message} />
          {touchOnly.matches && !hasTools && info.role === "assistant" && <ToolsButton position={position} />}
        </div>
        <Notes conversation={conversation} messageId={info.id} position={position} />
        {hasTools && (
          <MessageTools
            conversation={conversation}
            message={message}
            position={position}
            isRaw={isRaw}
            onRaw={() => setRaw(!isRaw)}
          />
        )}
      </article>
      <ChildForks conversation={conversation} position={position} />
      {inherited > 0 && position === inherited - 1 && <ForkPoint session={session as Session} />}
    </>
  );
});

/** What the call that made the message took. */
function UsageLine({ message }: { message: Message }) {
  const usage = usageOf(message);
  const line = usage && usageLine(usage);
  if (!line) return null;
  return (
    <p class="message-usage" title={usageDetails(usage)}>
      <Icon node={Gauge} size={12} /> <span class="unseen">Usage: </span>
      <bdi>{withoutPiles(line)}</bdi>
      {usage.isRecognised && " · from metadata"}
    </p>
  );
}

/** Shows on a touch screen that there is something to do with a message. A tap on the message does the same. */
function ToolsButton({ position }: { position: number }) {
  return (
    <IconButton
      node={Ellipsis}
      label={`What to do with message ${position}`}
      class="open-tools"
      onClick={({ currentTarget }) => {
        const article = (currentTarget as Element).closest("article");
        // The click selects the message, and then this button is gone.
        article?.focus({ preventScroll: true });
        if (article) toolsOpened.value = article;
      }}
    />
  );
}

/** Who speaks, since when, and whether the message was cut off. */
function Head({ info }: { info: Message["info"] }) {
  return (
    <div class="message-head">
      <span class="avatar">
        <Icon node={ICONS.get(info.role) ?? Bot} />
      </span>
      <strong>{info.role}</strong>
      <time dateTime={info.timestamp} title={whole(info.timestamp)}>
        {clock(info.timestamp)}
      </time>
      {isInterrupted(info) && (
        <span class="chip interrupted" title="The answer ended before it was complete">
          interrupted
        </span>
      )}
    </div>
  );
}

/** Whether the message is a draft that was kept although its writer did not finish it. */
function isInterrupted({ metadata }: Message["info"]): boolean {
  return metadata?.interrupted === true;
}

function Parts(props: { message: Message; position: number; conversation: Conversation }) {
  const { message, position, conversation } = props;
  const { count, calls } = conversation.history;
  const isLast = useComputed(() => count.value === position + 1).value;
  const views = viewsOf(message);
  if (views.every((view) => view.kind === "text" && view.text.trim() === "")) return <NoText />;
  return (
    <PartList
      views={views}
      timestamp={message.info.timestamp}
      stage={isLast ? "last" : "over"}
      calls={calls}
      onJump={(to) => (jump.value = { to })}
    />
  );
}

/** The role that a row shows: messages of tools are shown as those of the assistant. */
function speaker(role: string): string {
  return role === "tool" ? "assistant" : role;
}

/** Where a fork left its parent. */
function ForkPoint({ session }: { session: Session }) {
  const inherited = Number(session.inheritedCount);
  // The service does not name a parent that the caller may not see.
  if (!session.parentId) {
    return (
      <div class="fork-point">
        <Icon node={GitFork} /> <span>Forked here from another session. Everything above is shared.</span>
      </div>
    );
  }
  const parent = sessionById(session.parentId);
  return (
    <div class="fork-point">
      <Icon node={GitFork} />
      <span>
        Forked here from{" "}
        <a href={linkTo({ view: "session", sessionId: session.parentId, at: Math.max(0, inherited - 1) })}>
          {parent?.title || session.parentId}
        </a>
        . Everything above is shared.
      </span>
    </div>
  );
}

/** Forks that left this session after this message. */
function ChildForks({ conversation, position }: { conversation: Conversation; position: number }) {
  const here = conversation.children.value.filter(({ inheritedCount }) => Number(inheritedCount) === position + 1);
  if (here.length === 0) return null;
  return (
    <div class="child-forks">
      {here.slice(0, SHOWN_FORKS).map((fork) => (
        <a key={fork.sessionId} class="chip chip-action" href={sessionLink(fork.sessionId)} title={fork.sessionId}>
          <Icon node={GitFork} size={13} /> <span class="cut">{titleOf(fork)}</span>
        </a>
      ))}
      {here.length > SHOWN_FORKS && (
        <button type="button" class="chip chip-action" onClick={() => (panel.value = "forks")}>
          {here.length - SHOWN_FORKS} more
        </button>
      )}
    </div>
  );
}
