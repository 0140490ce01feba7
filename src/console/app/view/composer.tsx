import { SendHorizontal } from "lucide";
import { isSending, send, sendProblem, type, unsent } from "../state/composer.js";
import { jump } from "../state/ui.js";
import { Icon } from "./icon.js";

/** Writes a message at the end of the session. */
export function Composer({ sessionId }: { sessionId: string }) {
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
      <div class="composer-line">
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
          disabled={isSending.value || unsent.value.trim() === ""}
        >
          <Icon node={SendHorizontal} /> Send
        </button>
      </div>
    </form>
  );
}
