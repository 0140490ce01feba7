import type { ComponentChildren } from "preact";
import { ticketText } from "../../api/ticket.js";
import type { Session, UsageSums } from "../../api/types.js";
import type { Conversation } from "../../state/conversation.js";
import { linkTo, sessionLink } from "../../state/route.js";
import { filterByOwner, filterText } from "../../state/session-filter.js";
import { sessionById } from "../../state/session-list.js";
import { hasCalls, sumsFacts } from "../../state/usage-sums.js";
import { count, whole } from "../../text/format.js";
import { copyText } from "../copy.js";
import { JsonTree } from "../parts/json-tree.js";
import { Said } from "../said.js";

/** Everything that the service knows about the session except its messages. */
export function DetailsPanel({ conversation }: { conversation: Conversation }) {
  const session = conversation.session.value;
  if (session === undefined) return <Said what="loading" />;
  const { sessionId, parentId, forkPointId, owner, labels = {}, metadata = {} } = session;
  const forkPoint = Math.max(0, Number(session.inheritedCount) - 1);
  return (
    <dl class="facts">
      <Fact name="Id">
        <code>{sessionId}</code>{" "}
        <button type="button" class="text-button" onClick={() => void copyText(sessionId, "The id is copied")}>
          Copy
        </button>
      </Fact>
      <Fact name="Title">{session.title || "none"}</Fact>
      {owner && (
        <Fact name="Owner">
          <FilterChip text={owner} title="Sessions of this owner" onClick={() => filterByOwner(owner)} />
        </Fact>
      )}
      <UsageFacts session={session} />
      <Fact name="Messages">{count(conversation.history.count.value)}</Fact>
      {parentId && (
        <Fact name="Parent">
          <a href={sessionLink(parentId)} title={parentId}>
            {sessionById(parentId)?.title || parentId}
          </a>
        </Fact>
      )}
      {parentId && forkPointId && (
        <Fact name="Fork point">
          <a href={linkTo({ view: "session", sessionId: parentId, at: forkPoint })} title={forkPointId}>
            #{forkPoint}
          </a>
        </Fact>
      )}
      {Number(session.inheritedCount) > 0 && (
        <Fact name="Shared with its parent">{count(session.inheritedCount)} messages</Fact>
      )}
      <Fact name="Created">{whole(session.createTime)}</Fact>
      <Fact name="Last change">{whole(session.updateTime)}</Fact>
      {session.expireTime && <Fact name="Expires">{whole(session.expireTime)}</Fact>}
      <Fact name="Revision">{session.revision}</Fact>
      {Object.keys(labels).length > 0 && (
        <Fact name="Labels">
          {Object.entries(labels).map(([name, value]) => (
            <FilterChip
              key={name}
              text={`${name}: ${value}`}
              title="Sessions with this label"
              onClick={() => (filterText.value = `${name}=${value}`)}
            />
          ))}
        </Fact>
      )}
      {Object.keys(metadata).length > 0 && (
        <Fact name="Metadata">
          <JsonTree value={metadata} />
        </Fact>
      )}
    </dl>
  );
}

/** What the calls of models took, of this session and of what it inherited, so that nothing seems to count twice. */
function UsageFacts({ session: { usage, inheritedUsage } }: { session: Session }) {
  const own = hasCalls(usage);
  const inherited = hasCalls(inheritedUsage);
  if (!own && !inherited) return <Fact name="Usage">No call of a model is reported</Fact>;
  return (
    <>
      {own && <UsageFact name={inherited ? "Usage of its own messages" : "Usage"} sums={usage} />}
      {inherited && <UsageFact name="Usage of inherited messages" sums={inheritedUsage} />}
    </>
  );
}

function UsageFact({ name, sums }: { name: string; sums: UsageSums }) {
  return (
    <Fact name={name}>
      <table class="figures">
        <tbody>
          {sumsFacts(sums).map(([what, value]) => (
            <tr key={what}>
              <th scope="row">{what}</th>
              <td>{value}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Fact>
  );
}

/** A value by which the list can be filtered. A ticket has no list. */
function FilterChip({ text, title, onClick }: { text: string; title: string; onClick: () => void }) {
  if (ticketText !== undefined) return <span class="chip">{text}</span>;
  return (
    <button type="button" class="chip chip-action" title={title} onClick={onClick}>
      {text}
    </button>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}
