import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { insistently, reasonOf, toast } from "../../state/toasts.js";
import { type ConfirmDialog, dialog, type PromptDialog } from "../../state/ui.js";
import { closeDialog, DialogEnd, Modal } from "./modal.js";

type Asked = ConfirmDialog | PromptDialog;

/** Asks before something is done, and reports failures in the dialog itself. */
export function AskDialog({ asked }: { asked: Asked }) {
  const [value, setValue] = useState(asked.kind === "prompt" ? asked.value : "");
  const [isRunning, setRunning] = useState(false);
  const [problem, setProblem] = useState("");
  const wanted = asked.kind === "confirm" ? asked.typed : undefined;

  async function run(): Promise<void> {
    setRunning(true);
    setProblem("");
    try {
      await insistently(() => asked.run(value.trim()));
      if (dialog.peek() === asked) closeDialog();
    } catch (error) {
      // If the dialog has been closed meanwhile, a note reports the failure.
      if (dialog.peek() === asked) setProblem(reasonOf(error));
      else toast(`${asked.title} did not work. ${reasonOf(error)}`, { isError: true });
    } finally {
      setRunning(false);
    }
  }

  return (
    <Modal title={asked.title} onSubmit={() => void run()}>
      {asked.text && <p>{asked.text}</p>}
      {asked.kind === "prompt" && (
        <Field name={asked.field} value={value} onInput={setValue} isMultiline={asked.isMultiline ?? false} />
      )}
      {wanted !== undefined && <Field name={`Type ${wanted} to go on`} value={value} onInput={setValue} />}
      {asked.progress?.value && (
        <p class="muted" role="status">
          {asked.progress.value}
        </p>
      )}
      <DialogEnd problem={problem}>
        <button
          type="submit"
          disabled={isRunning || (wanted !== undefined && value.trim() !== wanted)}
          class={`button ${asked.kind === "confirm" && asked.isDanger ? "danger" : "primary"}`}
        >
          {asked.label}
        </button>
      </DialogEnd>
    </Modal>
  );
}

function Field(props: { name: string; value: string; onInput: (value: string) => void; isMultiline?: boolean }) {
  const { name, value, onInput, isMultiline = false } = props;
  const field = useRef<HTMLInputElement>(null);
  // What is typed next replaces what was suggested. Lines are there to be changed, and have no reference.
  useLayoutEffect(() => field.current?.select(), []);
  const all = {
    id: "asked",
    class: "field",
    value,
    autocomplete: "off",
    onInput: (event: { currentTarget: { value: string } }) => onInput(event.currentTarget.value),
  } as const;
  return (
    <label class="labelled" for="asked">
      {name}
      {isMultiline ? <textarea {...all} rows={5} /> : <input {...all} ref={field} />}
    </label>
  );
}
