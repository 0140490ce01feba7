import { useState } from "preact/hooks";
import { reasonOf } from "../../state/toasts.js";
import { type ConfirmDialog, dialog, type PromptDialog } from "../../state/ui.js";
import { ExportDialog } from "./export-dialog.js";
import { GotoDialog } from "./goto-dialog.js";
import { KeyDialog } from "./key-dialog.js";
import { KeysDialog } from "./keys-dialog.js";
import { closeDialog, Modal } from "./modal.js";

/** The one dialog that is open, if any. */
export function Dialogs() {
  const shown = dialog.value;
  switch (shown?.kind) {
    case undefined:
      return null;
    case "confirm":
    case "prompt":
      return <AskDialog asked={shown} />;
    case "key":
      return <KeyDialog />;
    case "keys":
      return <KeysDialog />;
    case "goto":
      return <GotoDialog />;
    case "export":
      return <ExportDialog session={shown.session} />;
  }
}

/** Asks before it does something; what goes wrong is told where it was asked. */
function AskDialog({ asked }: { asked: ConfirmDialog | PromptDialog }) {
  const [value, setValue] = useState(asked.kind === "prompt" ? asked.value : "");
  const [isRunning, setRunning] = useState(false);
  const [problem, setProblem] = useState("");

  async function run(event: Event): Promise<void> {
    event.preventDefault();
    setRunning(true);
    setProblem("");
    try {
      await asked.run(value.trim());
      closeDialog();
    } catch (error) {
      setProblem(reasonOf(error));
    } finally {
      setRunning(false);
    }
  }

  return (
    <Modal title={asked.title}>
      <form onSubmit={(event) => void run(event)}>
        {asked.text && <p>{asked.text}</p>}
        {asked.kind === "prompt" && (
          <label class="labelled" for="asked">
            {asked.field}
            {asked.isMultiline ? (
              <textarea
                id="asked"
                class="field"
                rows={5}
                value={value}
                onInput={(event) => setValue(event.currentTarget.value)}
              />
            ) : (
              <input id="asked" class="field" value={value} onInput={(event) => setValue(event.currentTarget.value)} />
            )}
          </label>
        )}
        {problem && (
          <p class="bad" role="alert">
            {problem}
          </p>
        )}
        <p class="actions">
          <button type="button" class="button" onClick={closeDialog}>
            Cancel
          </button>
          <button
            type="submit"
            disabled={isRunning}
            class={`button ${asked.kind === "confirm" && asked.isDanger ? "danger" : "primary"}`}
          >
            {asked.label}
          </button>
        </p>
      </form>
    </Modal>
  );
}
