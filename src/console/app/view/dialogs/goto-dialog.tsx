import { useState } from "preact/hooks";
import { listMessages } from "../../api/calls.js";
import { reasonOf } from "../../state/toasts.js";
import { conversation, type Jump, jump } from "../../state/ui.js";
import { count as formatted, startOfDay } from "../../text/format.js";
import { closeDialog, DialogEnd, Modal } from "./modal.js";

/** Goes to the start, the end, a position or a time of the session. */
export function GotoDialog() {
  const open = conversation.value;
  const [position, setPosition] = useState("");
  const [time, setTime] = useState("");
  const [problem, setProblem] = useState("");
  if (open === undefined) return null;
  const count = open.history.count.value;

  function goTo(to: Jump): void {
    jump.value = to;
    closeDialog();
  }

  async function goToTime(at: Date): Promise<void> {
    try {
      const { messages } = await listMessages(open!.sessionId, { since: at.toISOString(), limit: 1 }, open!.signal);
      const found = messages[0]?.info.position;
      if (found === undefined) setProblem("There is no message at or after that time");
      else goTo({ to: Number(found) });
    } catch (error) {
      setProblem(reasonOf(error));
    }
  }

  function submit(): void {
    if (position !== "") goTo({ to: Math.min(Number(position), count - 1) });
    else if (time !== "") void goToTime(new Date(time));
  }

  return (
    <Modal title="Go to" onSubmit={submit}>
      <p class="choices">
        <button type="button" class="button" onClick={() => goTo({ to: "start" })}>
          Start
        </button>
        <button type="button" class="button" onClick={() => void goToTime(startOfDay(new Date(), 1))}>
          Yesterday
        </button>
        <button type="button" class="button" onClick={() => void goToTime(startOfDay(new Date()))}>
          Today
        </button>
        <button type="button" class="button" onClick={() => goTo({ to: "end" })}>
          End
        </button>
      </p>
      <PositionField value={position} last={Math.max(0, count - 1)} onChange={setPosition} />
      <TimeField value={time} onChange={setTime} />
      <DialogEnd problem={problem}>
        <button type="submit" class="button primary" disabled={position === "" && time === ""}>
          Go
        </button>
      </DialogEnd>
    </Modal>
  );
}

function PositionField(props: { value: string; last: number; onChange: (value: string) => void }) {
  const { value, last, onChange } = props;
  return (
    <label class="labelled">
      Position, 0 to {formatted(last)}
      <input
        class="field"
        type="number"
        min={0}
        max={last}
        value={value}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </label>
  );
}

function TimeField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  return (
    <label class="labelled">
      First message at or after
      <input
        class="field"
        type="datetime-local"
        step={1}
        value={value}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </label>
  );
}
