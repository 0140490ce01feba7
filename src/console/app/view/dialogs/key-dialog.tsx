import { useState } from "preact/hooks";
import { apiKey, storeKey } from "../../api/http.js";
import { restartList } from "../../state/session-list.js";
import { conversation, openConversation } from "../../state/ui.js";
import { closeDialog, Modal } from "./modal.js";

export function KeyDialog() {
  const [key, setKey] = useState(apiKey.value);
  function use(event: Event): void {
    event.preventDefault();
    storeKey(key.trim());
    restartList();
    openConversation(conversation.value?.sessionId);
    closeDialog();
  }
  return (
    <Modal title="API key">
      <form onSubmit={use}>
        <label class="labelled">
          API key, kept in this tab only
          <input
            class="field"
            type="password"
            autocomplete="off"
            spellcheck={false}
            value={key}
            onInput={(event) => setKey(event.currentTarget.value)}
          />
        </label>
        <p class="actions">
          <button type="button" class="button" onClick={closeDialog}>
            Cancel
          </button>
          <button type="submit" class="button primary">
            Use it
          </button>
        </p>
      </form>
    </Modal>
  );
}
