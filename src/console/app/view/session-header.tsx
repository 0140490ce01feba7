import {
  ArrowLeft,
  ChartGantt,
  Clock,
  Gauge,
  GitFork,
  Info,
  ListTree,
  Paperclip,
  Redo2,
  TextSearch,
  UserRound,
} from "lucide";
import { ticketText } from "../api/ticket.js";
import type { Session } from "../api/types.js";
import { titleOf } from "../state/actions.js";
import type { Conversation } from "../state/conversation.js";
import { unrevert } from "../state/message-actions.js";
import { sessionLink } from "../state/route.js";
import { sessionById } from "../state/session-list.js";
import { dialog, type PanelName, panel } from "../state/ui.js";
import { hasCalls, sumsLine } from "../state/usage-sums.js";
import { plural } from "../text/format.js";
import { Icon, IconButton } from "./icon.js";
import { SessionMenu } from "./session-menu.js";

const PANELS: readonly { name: PanelName; label: string; word?: string; node: typeof Info }[] = [
  { name: "outline", label: "Outline", node: ListTree },
  { name: "search", label: "Search in this session", word: "Search", node: TextSearch },
  ...(ticketText === undefined ? ([{ name: "forks", label: "Forks", node: GitFork }] as const) : []),
  { name: "timeline", label: "Timeline", node: ChartGantt },
  { name: "files", label: "Files", node: Paperclip },
  { name: "details", label: "Details", node: Info },
];

/** Title, state and actions of the open session. */
export function SessionHeader({ conversation }: { conversation: Conversation }) {
  const session = conversation.session.value;
  const parent = session?.parentId
    ? (sessionById(session.parentId) ?? { sessionId: session.parentId, title: "" })
    : undefined;
  return (
    <header class="session-head">
      {ticketText === undefined && (
        <a class="icon-button back" href="#/" aria-label="All sessions">
          <Icon node={ArrowLeft} size={18} />
        </a>
      )}
      <div class="session-title">
        <h1 title={session ? titleOf(session) : conversation.sessionId}>
          {session ? titleOf(session) : conversation.sessionId}
        </h1>
        <p class="session-facts">
          <LiveBadge conversation={conversation} />
          <span>{plural(conversation.history.count.value, "message")}</span>
          {session && <Totals session={session} />}
          {session?.owner && (
            <span class="owner" title={`Owner: ${session.owner}`}>
              <Icon node={UserRound} size={13} /> <span class="cut">{session.owner}</span>
            </span>
          )}
          {parent && (
            <a href={sessionLink(parent.sessionId)} title={parent.sessionId}>
              fork of {titleOf(parent)}
            </a>
          )}
          {session?.reverted && ticketText === undefined && (
            <button type="button" class="chip chip-action" onClick={() => unrevert(conversation)}>
              <Icon node={Redo2} size={14} /> reverted: unrevert
            </button>
          )}
        </p>
      </div>
      <div class="session-tools">
        {PANELS.map(({ name, label, word = label, node }) => (
          <IconButton
            key={name}
            node={node}
            label={label}
            word={word}
            pressed={panel.value === name}
            onClick={() => (panel.value = panel.value === name ? undefined : name)}
          />
        ))}
        <IconButton
          node={Clock}
          label="Go to a place or time"
          word="Go to"
          onClick={() => (dialog.value = { kind: "goto" })}
        />
        {session && ticketText === undefined && <SessionMenu session={session} conversation={conversation} />}
      </div>
    </header>
  );
}

/** What the calls of models took; the details say more. */
function Totals({ session: { usage, inheritedUsage } }: { session: Session }) {
  if (!hasCalls(usage) && !hasCalls(inheritedUsage)) return null;
  return (
    <button
      type="button"
      class="text-button totals"
      title="What the calls of models took: show the details"
      onClick={() => (panel.value = "details")}
    >
      <Icon node={Gauge} size={13} /> <span class="unseen">Used: </span>
      {hasCalls(usage) ? sumsLine(usage) : "nothing of its own"}
      {hasCalls(inheritedUsage) && <span class="muted"> + {sumsLine(inheritedUsage)} inherited</span>}
    </button>
  );
}

const WORDS = { loading: "Loading", live: "Live updates", reconnecting: "Reconnecting", ended: "Ended" };

function LiveBadge({ conversation }: { conversation: Conversation }) {
  const live = conversation.live.value;
  return (
    <span class={`live live-${live}`} role="status" title={live === "live" ? "Changes appear here at once" : undefined}>
      {WORDS[live]}
    </span>
  );
}
