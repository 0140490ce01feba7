import { useEffect, useMemo, useState } from "preact/hooks";
import { titleOf } from "../../state/actions.js";
import { MAX_COMPARED } from "../../state/comparison.js";
import type { Conversation } from "../../state/conversation.js";
import { Family, type FamilyNode } from "../../state/family.js";
import { linkTo, sessionLink } from "../../state/route.js";
import { jump, leavePanel } from "../../state/ui.js";
import { recently } from "../../text/format.js";
import { Said } from "../said.js";

/** The tree of forks, and where each left the one above it. */
export function ForksPanel({ conversation }: { conversation: Conversation }) {
  const family = useMemo(() => new Family(), [conversation]);
  const [tries, setTries] = useState(0);
  const revision = conversation.session.value?.revision;
  useEffect(() => {
    const left = new AbortController();
    void family.read(conversation.sessionId, left.signal);
    return () => left.abort();
  }, [family, conversation, revision, tries]);
  const root = family.root.value;
  if (family.error.value !== undefined)
    return <Said what="failed" error={family.error.value} onRetry={() => setTries(tries + 1)} />;
  if (root === undefined) return <Said what="loading" />;
  const isAlone = root.children.length === 0 && !root.session?.parentId;
  return (
    <>
      {isAlone && (
        <p class="panel-note">
          No fork or share of this session yet. To make one, point at a message and choose “Fork here”, or press f.
        </p>
      )}
      {!isAlone && (
        <p class="panel-note">
          <a href={linkTo({ view: "compare", sessionIds: idsOf(root, conversation.sessionId) })}>
            Compare them side by side
          </a>
          : tokens, cost, and where they part
        </p>
      )}
      <ul class="tree">
        <Branch node={root} current={conversation.sessionId} />
      </ul>
    </>
  );
}

/** The session that is open and those nearest to it in the list, as many as can be compared. */
function idsOf(root: FamilyNode, current: string): readonly string[] {
  const all = (node: FamilyNode): readonly string[] => [
    ...(node.session ? [node.sessionId] : []),
    ...node.children.flatMap(all),
  ];
  const ids = all(root);
  const from = Math.max(0, Math.min(ids.indexOf(current) - 1, ids.length - MAX_COMPARED));
  return ids.slice(from, from + MAX_COMPARED);
}

function Branch({ node, current }: { node: FamilyNode; current: string }) {
  const { session, sessionId, children } = node;
  const isCurrent = sessionId === current;
  return (
    <li>
      <div class={`tree-node ${isCurrent ? "tree-current" : ""}`}>
        {session ? (
          <a href={sessionLink(sessionId)} title={sessionId} aria-current={isCurrent ? "page" : undefined}>
            {titleOf(session)}
          </a>
        ) : (
          <span class="muted">{sessionId} (deleted)</span>
        )}
        <span class="muted tree-facts">
          {/* Forks have the title of their source. */}
          {session?.title && <span>{sessionId} · </span>}
          {session?.parentId && (
            <LeftAt parentId={session.parentId} inherited={Number(session.inheritedCount)} current={current} />
          )}
          {session && recently(session.updateTime)}
          {session && !isCurrent && (
            <>
              {" · "}
              <a
                href={linkTo({ view: "compare", sessionIds: [current, sessionId] })}
                aria-label={`Compare with ${titleOf(session)}`}
              >
                compare
              </a>
            </>
          )}
        </span>
      </div>
      {children.length > 0 && (
        <ul>
          {children.map((child) => (
            <Branch key={child.sessionId} node={child} current={current} />
          ))}
        </ul>
      )}
      {node.hasMore && <p class="panel-note">More forks than are shown</p>}
    </li>
  );
}

function LeftAt({ parentId, inherited, current }: { parentId: string; inherited: number; current: string }) {
  if (inherited === 0) return <span>from the start · </span>;
  const at = inherited - 1;
  const leave = () => {
    // If the address names this place already, following the link changes nothing, so the list is told to go there.
    if (parentId === current) jump.value = { to: at };
    leavePanel();
  };
  return (
    <span>
      <a href={linkTo({ view: "session", sessionId: parentId, at })} onClick={leave}>
        left at #{at}
      </a>
      {" · "}
    </span>
  );
}
