import { useEffect, useRef, useState } from "preact/hooks";
import { type Choice, type Context, countsOf, usualChoice } from "../../state/data-set.js";
import { exportDataSet } from "../../state/export.js";
import { reasonOf, toast } from "../../state/toasts.js";
import { conversation, selected } from "../../state/ui.js";
import { count, plural } from "../../text/format.js";
import { closeDialog, DialogEnd, Modal } from "./modal.js";

const CHOICES: readonly { choice: Choice; label: string }[] = [
  { choice: "up", label: "Messages with a thumb up" },
  { choice: "down", label: "Messages with a thumb down" },
  { choice: "noted", label: "Messages with a thumb or a note" },
  { choice: "answers", label: "All answers of the assistant" },
];

/** Saves messages with their feedback as JSON Lines, for evaluations and training. */
export function DataSetDialog({ sessionIds }: { sessionIds: readonly string[] }) {
  const position = sessionIds.length === 1 ? selected.value : undefined;
  const open = conversation.value;
  // Of sessions that are not open, the page does not know the feedback.
  const isKnown = sessionIds.length === 1 && sessionIds[0] === open?.sessionId;
  const counts = isKnown && open ? countsOf(open.annotations.all.value) : {};
  const [choice, setChoice] = useState<Choice>(usualChoice(counts));
  const [context, setContext] = useState<Context>("all");
  const [read, setRead] = useState<number | undefined>(undefined);
  const [problem, setProblem] = useState("");
  const running = useRef(new AbortController());
  useEffect(() => () => running.current.abort(), []);
  const choices =
    position === undefined
      ? CHOICES
      : [{ choice: "selected" as const, label: `The selected message, #${position}` }, ...CHOICES];

  async function save(): Promise<void> {
    setRead(0);
    setProblem("");
    try {
      const wanted = { choice, context, selected: position };
      const saved = await exportDataSet(sessionIds, wanted, running.current.signal, setRead);
      if (saved === 0) {
        setProblem("No message is chosen by that, so there is nothing to save.");
        setRead(undefined);
        return;
      }
      toast(`${plural(saved, "example")} saved`);
      closeDialog();
    } catch (error) {
      if (running.current.signal.aborted) return;
      setProblem(reasonOf(error));
      setRead(undefined);
    }
  }

  return (
    <Modal title="Export a data set" onSubmit={() => void save()}>
      <p>
        One line of JSON for each chosen message, in the chat format of OpenAI: what came before it, the message, and
        the feedback on it as metadata.
      </p>
      <fieldset class="verdict column">
        <legend>Which messages</legend>
        {choices.map((one) => (
          <label key={one.choice}>
            <input type="radio" name="choice" checked={choice === one.choice} onChange={() => setChoice(one.choice)} />
            <span>
              {one.label}
              {counts[one.choice] !== undefined && ` (${count(counts[one.choice])})`}
            </span>
          </label>
        ))}
      </fieldset>
      <fieldset class="verdict column">
        <legend>What goes before each</legend>
        <label>
          <input type="radio" name="context" checked={context === "all"} onChange={() => setContext("all")} />
          <span>All messages before it</span>
        </label>
        <label>
          <input type="radio" name="context" checked={context === "turn"} onChange={() => setContext("turn")} />
          <span>The request that it answers, and what followed that</span>
        </label>
      </fieldset>
      {read !== undefined && <p role="status">{count(read)} messages read…</p>}
      <DialogEnd problem={problem}>
        <button type="submit" class="button primary" disabled={read !== undefined}>
          Save
        </button>
      </DialogEnd>
    </Modal>
  );
}
