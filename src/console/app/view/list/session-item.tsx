import { computed } from "@preact/signals";
import { GitFork, UserRound } from "lucide";
import type { Session } from "../../api/types.js";
import { titleOf } from "../../state/actions.js";
import { sessionLink } from "../../state/route.js";
import { sessionById, sessions } from "../../state/session-list.js";
import { count, plural, recently, whole } from "../../text/format.js";
import { Icon } from "../icon.js";
import { LastFailure, LastSaid, Unseen } from "./session-marks.js";

/** Whether the owner says anything: not to a caller who sees only the sessions of one. */
const hasOwners = computed(() => new Set(sessions.value.map(({ owner = "" }) => owner)).size > 1);

export function SessionItem(props: {
  session: Session;
  depth: number;
  heading: string | undefined;
  isCurrent: boolean;
}) {
  const { session, depth, heading, isCurrent } = props;
  const { sessionId, title, parentId, updateTime, messageCount, owner, labels = {} } = session;
  const parent = parentId ? (sessionById(parentId)?.title ?? parentId) : undefined;
  return (
    <li>
      {heading && <h2 class="list-day">{heading}</h2>}
      <a
        class="session-item"
        href={sessionLink(sessionId)}
        aria-current={isCurrent ? "page" : undefined}
        style={{ marginInlineStart: `${Math.min(depth, 6) * 14}px` }}
      >
        <span class="item-line">
          <span class="item-title" title={titleOf(session)}>
            {titleOf(session)}
          </span>
          <time dateTime={updateTime} title={whole(updateTime)}>
            {recently(updateTime)}
          </time>
        </span>
        <span class="item-line">
          <span class="item-preview" dir="auto">
            <LastSaid session={session} />
          </span>
          <Unseen session={session} />
          {messageCount !== undefined && (
            <span class="item-count" title={plural(Number(messageCount), "message")}>
              {count(messageCount)}
            </span>
          )}
        </span>
        <LastFailure session={session} />
        <span class="item-line item-facts">
          <span class="item-id" title={sessionId}>
            {title ? sessionId : ""}
          </span>
          {parent && depth === 0 && (
            <span class="item-parent" title={`From ${parentId}`}>
              <Icon node={GitFork} size={12} /> {parent}
            </span>
          )}
          {owner && hasOwners.value && (
            <span class="chip" title={`Owner: ${owner}`}>
              <Icon node={UserRound} size={12} /> <span class="cut">{owner}</span>
            </span>
          )}
          {Object.entries(labels).map(([name, value]) => (
            <span key={name} class="chip">
              {value ? `${name}: ${value}` : name}
            </span>
          ))}
        </span>
      </a>
    </li>
  );
}
