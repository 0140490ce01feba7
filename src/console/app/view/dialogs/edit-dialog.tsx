import { useMemo } from "preact/hooks";
import type { Part } from "../../api/types.js";
import type { Conversation } from "../../state/conversation.js";
import { asJson, type EditBase, isText } from "../../state/message-edit.js";
import { MessageEditor } from "../../state/message-editor.js";
import { plural } from "../../text/format.js";
import { closeDialog, DialogEnd, Modal } from "./modal.js";

/**
 * Gives a message new content. If somebody else has changed the message meanwhile, their version is shown and never
 * overwritten without asking.
 */
export function EditDialog(props: { conversation: Conversation; messageId: string; position: number }) {
  const { conversation, messageId, position } = props;
  const editor = useMemo(
    () => new MessageEditor(conversation, messageId, position),
    [conversation, messageId, position],
  );
  const base = editor.base.value;
  const json = editor.json.value;
  const theirs = editor.theirs.value;

  async function save(): Promise<void> {
    if (await editor.save()) closeDialog();
  }

  return (
    <Modal title={`Edit message #${position}`} isWide onSubmit={() => void save()}>
      <p class="muted">
        The message keeps its place and its time. Forks made earlier keep what it says now, and earlier reverts can no
        longer be unreverted.
      </p>
      {base === undefined && editor.problem.value === "" && <p role="status">Reading the message…</p>}
      {base && json === undefined && <Texts editor={editor} />}
      {base && json !== undefined && (
        <label class="labelled">
          Parts as JSON
          <textarea
            class="field"
            rows={12}
            spellcheck={false}
            value={json}
            onInput={(event) => (editor.json.value = event.currentTarget.value)}
          />
        </label>
      )}
      {base && (
        <button type="button" class="text-button" onClick={() => editor.switchView()}>
          {json === undefined ? "Edit all parts as JSON" : "Edit the texts only"}
        </button>
      )}
      {theirs && <Conflict theirs={theirs} onTake={() => editor.begin(theirs)} />}
      <DialogEnd problem={editor.problem.value}>
        <button
          type="submit"
          class={`button ${theirs ? "danger" : "primary"}`}
          disabled={base === undefined || editor.isSaving.value}
        >
          {theirs ? "Save mine over it" : "Save"}
        </button>
      </DialogEnd>
    </Modal>
  );
}

function Texts({ editor }: { editor: MessageEditor }) {
  const parts = editor.parts.value;
  const others = parts.filter((part) => !isText(part)).length;
  return (
    <>
      {parts.map((part, i) => isText(part) && <TextField key={i} part={part} onInput={(text) => change(i, text)} />)}
      {others > 0 && <p class="muted">{`${plural(others, "other part")} without text can only be edited as JSON.`}</p>}
    </>
  );

  function change(index: number, text: string): void {
    editor.parts.value = parts.map((part, i) => (i === index ? { ...part, text } : part));
  }
}

function TextField({ part, onInput }: { part: Part; onInput: (text: string) => void }) {
  return (
    <label class="labelled">
      {part.type === "text" ? "Text" : `Text of ${part.type}`}
      <textarea
        class="field"
        dir="auto"
        rows={Math.min(14, Math.max(4, part.text.split("\n").length + 1))}
        value={part.text}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </label>
  );
}

function Conflict({ theirs, onTake }: { theirs: EditBase; onTake: () => void }) {
  const { parts } = theirs.message;
  return (
    <div class="conflict" role="alert">
      <p>
        <strong>Somebody else has changed this message since you opened it.</strong> Nothing of yours is saved yet. It
        now reads:
      </p>
      <pre class="output" dir="auto" tabindex={0}>
        {parts.every(isText) ? parts.map(({ text }) => text).join("\n\n") : asJson(parts)}
      </pre>
      <button type="button" class="text-button" onClick={onTake}>
        Drop mine and continue from theirs
      </button>
    </div>
  );
}
