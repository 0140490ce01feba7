import { useEffect, useRef, useState } from "preact/hooks";
import type { Session } from "../../api/types.js";
import { type ExportFormat, exportSession } from "../../state/export.js";
import { reasonOf, toast } from "../../state/toasts.js";
import { dialog } from "../../state/ui.js";
import { count } from "../../text/format.js";
import { closeDialog, DialogEnd, Modal } from "./modal.js";

/** Saves the whole session as a file. */
export function ExportDialog({ session }: { session: Session }) {
  const [read, setRead] = useState<number | undefined>(undefined);
  const [problem, setProblem] = useState("");
  const running = useRef(new AbortController());
  useEffect(() => () => running.current.abort(), []);

  async function run(format: ExportFormat): Promise<void> {
    setRead(0);
    setProblem("");
    try {
      const saved = await exportSession(session, format, running.current.signal, setRead);
      toast(`${count(saved)} messages are saved`);
      closeDialog();
    } catch (error) {
      if (running.current.signal.aborted) return;
      setProblem(reasonOf(error));
      setRead(undefined);
    }
  }

  return (
    <Modal title="Export">
      <p>The whole session, with every message as it is now. For a backup of many sessions use session-pool export.</p>
      {read !== undefined && <p role="status">{count(read)} messages read…</p>}
      <DialogEnd problem={problem}>
        <button
          type="button"
          class="button"
          disabled={read !== undefined}
          onClick={() => (dialog.value = { kind: "dataSet", sessionIds: [session.sessionId] })}
        >
          Data set…
        </button>
        <button type="button" class="button" disabled={read !== undefined} onClick={() => void run("markdown")}>
          Markdown
        </button>
        <button type="button" class="button primary" disabled={read !== undefined} onClick={() => void run("json")}>
          JSON lines
        </button>
      </DialogEnd>
    </Modal>
  );
}
