import { MessageSquareText, Pencil, ThumbsDown, ThumbsUp, Trash2 } from "lucide";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { withoutPiles } from "../../../parts/piles.js";
import { canWrite } from "../api/ticket.js";
import type { Annotation } from "../api/types.js";
import type { Annotations } from "../state/annotations.js";
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
  const { annotations } = conversation;
  const notes = annotations.of(messageId);
  const asked = annotations.asked.value;
  const given = notes.find(({ annotationId }) => annotationId === asked?.annotationId);
  if (notes.length === 0) return null;
  return (
    <>
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
      {given && (
        <Why key={given.annotationId} annotations={annotations} given={given} hasFocus={asked?.isByKey === true} />
      )}
    </>
  );
}

/** Offers to say why, right after a thumb has been given. The thumb is saved already. */
function Why(props: { annotations: Annotations; given: Annotation; hasFocus: boolean }) {
  const { annotations, given, hasFocus } = props;
  const [text, setText] = useState("");
  const form = useRef<HTMLFormElement>(null);
  const isGood = given.thumb === "up";
  // The field has the focus before the next key is pressed, so that the key is typed into it.
  useLayoutEffect(() => {
    if (hasFocus) form.current?.querySelector("input")?.focus();
  }, []);
  /** The focus returns to the message, and does not get lost with the field. */
  const leave = () => form.current?.closest("article")?.focus();
  async function save(event: Event): Promise<void> {
    event.preventDefault();
    if (text.trim() === "") return close();
    leave();
    await annotations.explain(given, text.trim());
  }
  function close(): void {
    leave();
    annotations.ask(undefined);
  }
  return (
    <form
      class="why"
      ref={form}
      onSubmit={save}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        close();
      }}
    >
      <p class="muted" role="status">
        Saved as {isGood ? "good" : "bad"}.
      </p>
      <input
        class="field"
        dir="auto"
        autocomplete="off"
        aria-label={`Why is this ${isGood ? "good" : "bad"}? Optional`}
        placeholder="Say why, if you like"
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      <button type="submit" class="button">
        Save
      </button>
      <button type="button" class="text-button muted" onClick={close}>
        No, thanks
      </button>
    </form>
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
