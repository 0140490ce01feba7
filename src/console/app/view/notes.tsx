import { MessageSquareText, Pencil, ThumbsDown, ThumbsUp, Trash2 } from "lucide";
import { withoutPiles } from "../../../parts/piles.js";
import { canWrite } from "../api/ticket.js";
import type { Annotation } from "../api/types.js";
import type { Conversation } from "../state/conversation.js";
import { dialog } from "../state/ui.js";
import { clock, dayOf, whole } from "../text/format.js";
import { Icon, IconButton } from "./icon.js";

interface NotesProps {
  readonly conversation: Conversation;
  readonly messageId: string;
  readonly position: number;
}

/** What people say of a message. */
export function Notes({ conversation, messageId, position }: NotesProps) {
  const notes = conversation.annotations.of(messageId);
  if (notes.length === 0) return null;
  return (
    <ul class="notes" aria-label={`Notes on message ${position}`}>
      {notes.map((note) => (
        <Note
          key={note.annotationId}
          note={note}
          onEdit={() => (dialog.value = { kind: "note", conversation, messageId, position, note })}
          onDelete={() => conversation.annotations.removeWithUndo(note)}
        />
      ))}
    </ul>
  );
}

function Note({ note, onEdit, onDelete }: { note: Annotation; onEdit: () => void; onDelete: () => void }) {
  const { thumb, text, author, updateTime } = note;
  return (
    <li class="note-line">
      <span class={thumb === "down" ? "bad" : thumb === "up" ? "good" : "muted"}>
        <Icon node={thumb === "up" ? ThumbsUp : thumb === "down" ? ThumbsDown : MessageSquareText} size={14} />
        <span class="unseen">{thumb === "up" ? "Good: " : thumb === "down" ? "Bad: " : "Note: "}</span>
      </span>
      <span class="note-words" dir="auto">
        {text && <span class="note-said">{withoutPiles(text)}</span>}{" "}
        <span class="muted" title={whole(updateTime)}>
          <bdi>{withoutPiles(author) || "somebody"}</bdi>, {dayOf(updateTime)} {clock(updateTime)}
        </span>
      </span>
      {canWrite && (
        <span class="note-tools">
          <IconButton node={Pencil} label="Change the note" onClick={onEdit} />
          <IconButton node={Trash2} label="Delete the note" onClick={onDelete} />
        </span>
      )}
    </li>
  );
}
