import {
  Braces,
  Ellipsis,
  Eraser,
  GitFork,
  Link,
  MessageSquareText,
  Pencil,
  ThumbsDown,
  ThumbsUp,
  Trash2,
  Undo2,
} from "lucide";
import { useRef, useState } from "preact/hooks";
import { canWrite, ticketText } from "../api/ticket.js";
import type { Message } from "../api/types.js";
import type { Conversation } from "../state/conversation.js";
import { edit, erase, forkAt, removeMessage, revertTo } from "../state/message-actions.js";
import { linkTo } from "../state/route.js";
import { dialog, toolsOpened } from "../state/ui.js";
import { copyText } from "./copy.js";
import { IconButton } from "./icon.js";
import { touchOnly } from "./touch.js";
import { useToolsPlace } from "./use-tools-place.js";

/**
 * The actions for one message, shown while the pointer is over it or it is selected. A touch screen shows no tips, so
 * there each has its word, and those that are used less are behind "More".
 */
export function MessageTools(props: {
  conversation: Conversation;
  message: Message;
  position: number;
  isRaw: boolean;
  onRaw: () => void;
}) {
  const { conversation, message, position, isRaw, onRaw } = props;
  const { id } = message.info;
  // A ticket permits nothing that concerns more than the messages of this session.
  const hasKey = ticketText === undefined;
  const tools = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  useToolsPlace(tools);
  const link = new URL(linkTo({ view: "session", sessionId: conversation.sessionId, messageId: id }), location.href);
  const linkTool = (
    <IconButton
      node={Link}
      label="Copy a link to this message"
      word="Copy a link"
      onClick={() => void copyText(link.href, "The link is copied")}
    />
  );
  const feedback = canWrite && <Feedback conversation={conversation} messageId={id} position={position} />;
  const others = (
    <>
      {hasKey && (
        <>
          <IconButton
            node={GitFork}
            label="Fork here"
            word="Fork here"
            onClick={() => forkAt(conversation, message, position)}
          />
          <IconButton
            node={Undo2}
            label="Revert to here"
            word="Revert to here"
            onClick={() => revertTo(conversation, message, position)}
          />
        </>
      )}
      <IconButton node={Braces} label="Raw view" word="Raw view" pressed={isRaw} onClick={onRaw} isRaw />
      {canWrite && (
        <IconButton
          node={Pencil}
          label="Edit this message"
          word="Edit"
          onClick={() => edit(conversation, message, position)}
        />
      )}
      {hasKey && (
        <>
          <IconButton
            node={Trash2}
            label="Delete this message"
            word="Delete"
            onClick={() => removeMessage(conversation, message, position)}
          />
          <IconButton
            node={Eraser}
            label="Erase this message everywhere"
            word="Erase"
            onClick={() => erase(conversation, message, position)}
          />
        </>
      )}
    </>
  );
  return (
    <div class="message-tools" ref={tools} role="group" aria-label={`Message ${position}`}>
      <span class="position">#{position}</span>
      {touchOnly.matches && canWrite ? (
        <>
          {feedback}
          <IconButton
            node={Ellipsis}
            label="More"
            word="More"
            expanded={isOpen}
            onClick={(event) => {
              setOpen(!isOpen);
              event.stopPropagation();
              toolsOpened.value = tools.current?.closest("article") ?? undefined;
            }}
          />
          <div class="more-tools" hidden={!isOpen}>
            {linkTool}
            {others}
          </div>
        </>
      ) : (
        <>
          {linkTool}
          {feedback}
          {others}
        </>
      )}
    </div>
  );
}

/** A verdict with one press, or a note. */
function Feedback(props: { conversation: Conversation; messageId: string; position: number }) {
  const { conversation, messageId, position } = props;
  const { annotations } = conversation;
  const given = annotations.thumbOf(messageId);
  return (
    <>
      <IconButton
        node={ThumbsUp}
        label="Good"
        word="Good"
        pressed={given === "up"}
        onClick={(event) => annotations.rate(messageId, "up", isByKey(event))}
      />
      <IconButton
        node={ThumbsDown}
        label="Bad"
        word="Bad"
        pressed={given === "down"}
        onClick={(event) => annotations.rate(messageId, "down", isByKey(event))}
      />
      <IconButton
        node={MessageSquareText}
        label="Add a note"
        word="Note"
        onClick={() => (dialog.value = { kind: "note", conversation, messageId, position })}
      />
    </>
  );
}

/** Whether a key has pressed the button, and no pointer. */
function isByKey({ detail }: MouseEvent): boolean {
  return detail === 0;
}
