import { useEffect, useMemo } from "preact/hooks";
import type { Attachment } from "../../api/types.js";
import { AttachmentPages } from "../../state/attachment-list.js";
import type { Conversation } from "../../state/conversation.js";
import { linkTo } from "../../state/route.js";
import { leavePanel } from "../../state/ui.js";
import { FileLine } from "../parts/attachment.js";
import { Said } from "../said.js";

/** The attachments that the session shows, and which messages they belong to. */
export function FilesPanel({ conversation }: { conversation: Conversation }) {
  const { sessionId } = conversation;
  const pages = useMemo(() => new AttachmentPages(sessionId), [sessionId]);
  const left = useMemo(() => new AbortController(), [pages]);
  useEffect(() => () => left.abort(), [left]);
  const count = conversation.history.count.value;
  const revision = conversation.session.value?.revision;
  useEffect(() => void pages.read(left.signal), [pages, left, count, revision]);
  const attachments = pages.attachments.value;
  if (pages.error.value !== undefined)
    return <Said what="failed" error={pages.error.value} onRetry={() => void pages.read(left.signal)} />;
  if (attachments === undefined) return <Said what="loading" />;
  if (attachments.length === 0) {
    return <Said what="empty">No message of this session has a file. To add one, drag it to the messages.</Said>;
  }
  return (
    <>
      <ul class="files">
        {attachments.map((one) => (
          <li key={one.attachmentId}>
            <FileLine attachment={one} />
            <Places attachment={one} sessionId={sessionId} />
          </li>
        ))}
      </ul>
      {pages.next.value !== "" && (
        <button type="button" class="fold" onClick={() => void pages.readMore(left.signal)}>
          More files
        </button>
      )}
    </>
  );
}

const SHOWN = 3;

/** Links to the messages that have the file. */
function Places({ attachment: { messageIds }, sessionId }: { attachment: Attachment; sessionId: string }) {
  return (
    <p class="muted">
      {messageIds.slice(0, SHOWN).map((messageId, i) => (
        <span key={messageId}>
          {i > 0 && ", "}
          <a href={linkTo({ view: "session", sessionId, messageId })} onClick={leavePanel}>
            {i === 0 ? "message" : `message ${i + 1}`}
          </a>
        </span>
      ))}
      {messageIds.length > SHOWN && ` and ${messageIds.length - SHOWN} more`}
    </p>
  );
}
