import { useState } from "preact/hooks";
import type { Annotation, Thumb } from "../../api/types.js";
import { author, fixedAuthor, storeAuthor } from "../../state/annotations.js";
import type { Conversation } from "../../state/conversation.js";
import { insistently, reasonOf } from "../../state/toasts.js";
import { closeDialog, DialogEnd, Modal } from "./modal.js";

const THUMBS: readonly { thumb: Thumb; label: string }[] = [
  { thumb: "up", label: "Good" },
  { thumb: "down", label: "Bad" },
  { thumb: "", label: "No verdict" },
];

interface NoteProps {
  readonly conversation: Conversation;
  readonly messageId: string;
  readonly position: number;
  /** The note that is changed; a new one if there is none. */
  readonly note?: Annotation;
}

/** Writes a note on a message: a verdict, a text, and who says it. The message itself stays as it is. */
export function NoteDialog({ conversation, messageId, position, note }: NoteProps) {
  const [thumb, setThumb] = useState<Thumb>(note?.thumb ?? "");
  const [text, setText] = useState(note?.text ?? "");
  const [who, setWho] = useState(fixedAuthor ?? note?.author ?? author.value);
  const [problem, setProblem] = useState("");
  const [isSaving, setSaving] = useState(false);

  async function save(): Promise<void> {
    setSaving(true);
    setProblem("");
    try {
      const content = { thumb, text: text.trim(), author: who.trim() };
      const { annotations } = conversation;
      await insistently(() =>
        note ? annotations.change(note.annotationId, content) : annotations.add(messageId, content),
      );
      if (!note && fixedAuthor === undefined) storeAuthor(content.author);
      closeDialog();
    } catch (error) {
      setProblem(reasonOf(error));
      setSaving(false);
    }
  }

  return (
    <Modal
      title={note ? `Change the note on #${position}` : `Note on message #${position}`}
      onSubmit={() => void save()}
    >
      <fieldset class="verdict">
        <legend>Verdict</legend>
        {THUMBS.map((one) => (
          <label key={one.thumb}>
            <input
              type="radio"
              name="thumb"
              value={one.thumb}
              checked={thumb === one.thumb}
              onChange={() => setThumb(one.thumb)}
            />{" "}
            {one.label}
          </label>
        ))}
      </fieldset>
      <label class="labelled">
        Text
        <textarea
          class="field"
          dir="auto"
          rows={5}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </label>
      <label class="labelled">
        Who says it
        <input
          class="field"
          autocomplete="off"
          readOnly={fixedAuthor !== undefined}
          value={who}
          onInput={({ currentTarget }) => setWho(currentTarget.value)}
        />
      </label>
      <DialogEnd problem={problem}>
        <button type="submit" class="button primary" disabled={isSaving || (thumb === "" && text.trim() === "")}>
          Save
        </button>
      </DialogEnd>
    </Modal>
  );
}
