import { Paperclip, RotateCw, SendHorizontal, X } from "lucide";
import { useRef } from "preact/hooks";
import { withoutPiles } from "../../../parts/piles.js";
import { canSend, isSending, send, sendProblem, type, unsent } from "../state/composer.js";
import { jump } from "../state/ui.js";
import { addFiles, filesOf, removeFile, retryFile, type UnsentFile } from "../state/unsent-files.js";
import { byteSize } from "../text/format.js";
import { Icon, IconButton } from "./icon.js";

/** Writes a message at the end of the session, with files. */
export function Composer({ sessionId }: { sessionId: string }) {
  const picker = useRef<HTMLInputElement>(null);
  const files = filesOf(sessionId);
  async function submit(): Promise<void> {
    if (await send(sessionId)) jump.value = { to: "end" };
  }
  return (
    <form
      class="composer"
      aria-label="Write a message"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {sendProblem.value && (
        <p class="bad" role="alert">
          Not sent. {sendProblem.value}
        </p>
      )}
      {files.length > 0 && (
        <ul class="unsent-files" aria-label="Files of the message">
          {files.map((one) => (
            <FileToSend key={one.attachmentId} file={one} />
          ))}
        </ul>
      )}
      <div class="composer-line">
        <input
          ref={picker}
          type="file"
          multiple
          hidden
          onChange={({ currentTarget }) => {
            addFiles(sessionId, currentTarget.files ?? []);
            currentTarget.value = "";
          }}
        />
        <IconButton node={Paperclip} label="Add files" onClick={() => picker.current?.click()} />
        <textarea
          class="field"
          dir="auto"
          rows={2}
          placeholder="Write a message"
          aria-label="Message"
          aria-keyshortcuts="Control+Enter Meta+Enter"
          readOnly={isSending.value}
          value={unsent.value}
          onInput={(event) => type(event.currentTarget.value)}
          onPaste={(event) => {
            const pasted = event.clipboardData?.files ?? [];
            if (pasted.length === 0) return;
            event.preventDefault();
            addFiles(sessionId, pasted);
          }}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
            event.preventDefault();
            void submit();
          }}
        />
        <button
          type="submit"
          class="button primary"
          title="Send (Ctrl+Enter)"
          disabled={isSending.value || !canSend(sessionId)}
        >
          <Icon node={SendHorizontal} /> Send
        </button>
      </div>
    </form>
  );
}

/** A file that goes with the message, and how much of it has arrived. */
function FileToSend({ file: one }: { file: UnsentFile }) {
  const { file, state, sent, problem } = one;
  const name = withoutPiles(file.name) || "file";
  return (
    <li class={`file ${state === "failed" ? "file-failed" : ""}`}>
      <span class="cut" title={name}>
        {name}
      </span>
      {state === "sending" && <progress value={sent} max={Math.max(1, file.size)} aria-label={`Sending ${name}`} />}
      {state === "sent" && <span class="muted">{byteSize(file.size)}</span>}
      {state === "failed" && (
        <span class="bad" role="alert">
          Not sent. {problem}
        </span>
      )}
      {state === "failed" && <IconButton node={RotateCw} label={`Send ${name} again`} onClick={() => retryFile(one)} />}
      <IconButton node={X} label={`Remove ${name}`} onClick={() => removeFile(one)} />
    </li>
  );
}
