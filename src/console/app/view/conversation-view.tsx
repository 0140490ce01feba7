import { Eye, SquarePen } from "lucide";
import { ApiError } from "../api/http.js";
import { type Ticket, ticket } from "../api/ticket.js";
import type { Conversation } from "../state/conversation.js";
import { reasonOf } from "../state/toasts.js";
import { openConversation } from "../state/ui.js";
import { filesOf } from "../state/unsent-files.js";
import { untilMinute } from "../text/format.js";
import { Composer } from "./composer.js";
import { Icon } from "./icon.js";
import { LinkOver } from "./link-over.js";
import { MessageList } from "./message-list.js";
import { OpenSession } from "./open-session.js";
import { SidePanel } from "./panel/side-panel.js";
import { Problem, WayOn } from "./problem.js";
import { SessionHeader } from "./session-header.js";
import { useDroppedFiles } from "./use-dropped-files.js";

/** The open session. */
export function ConversationView({ conversation }: { conversation: Conversation }) {
  const error = conversation.error.value;
  if (ticket !== undefined && conversation.live.value === "ended") return <LinkOver error={error} />;
  const reopen = () => openConversation(conversation.sessionId);
  if (conversation.session.value === undefined) {
    if (error !== undefined) return <Problem error={error} onRetry={reopen} />;
    return <main class="conversation" aria-busy="true" aria-label="Loading" />;
  }
  return (
    <OpenSession.Provider value={conversation.sessionId}>
      <Main conversation={conversation} error={error} reopen={reopen} />
    </OpenSession.Provider>
  );
}

function Main({ conversation, error, reopen }: { conversation: Conversation; error: unknown; reopen: () => void }) {
  const dropping = useDroppedFiles(conversation.sessionId);
  const canCompose = ticket?.scope === "write" || filesOf(conversation.sessionId).length > 0;
  return (
    <main class={`conversation ${dropping.isOver ? "dropping" : ""}`} {...dropping.handlers}>
      <SessionHeader conversation={conversation} />
      {ticket && <TicketLine ticket={ticket} />}
      {error !== undefined && (
        <p class="banner" role="status">
          {conversation.live.value === "ended"
            ? `${error instanceof ApiError ? error.message : "The session cannot be followed"}. What you see is no longer live.`
            : `${reasonOf(error)} Trying again…`}
          <WayOn
            error={error}
            class="text-button"
            onRetry={() => (conversation.live.value === "ended" ? reopen() : conversation.retry())}
          />
        </p>
      )}
      <div class="split">
        <MessageList conversation={conversation} />
        <SidePanel conversation={conversation} />
      </div>
      {canCompose && <Composer sessionId={conversation.sessionId} />}
    </main>
  );
}

/** What the link permits, and how long. */
function TicketLine({ ticket: { scope, expireTime } }: { ticket: Ticket }) {
  return (
    <p class="ticket-line">
      <Icon node={scope === "write" ? SquarePen : Eye} />
      <span>
        {scope === "write" ? "You can read and write here" : "Read only"}, until {untilMinute(expireTime)}
      </span>
    </p>
  );
}
