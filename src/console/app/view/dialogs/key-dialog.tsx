import { useState } from "preact/hooks";
import { apiKey, storeKey } from "../../api/http.js";
import { restartList } from "../../state/session-list.js";
import { conversation, openConversation } from "../../state/ui.js";
import { closeDialog, DialogEnd, Modal } from "./modal.js";

export function KeyDialog() {
  const [key, setKey] = useState(apiKey.value);
  function use(): void {
    storeKey(key.trim());
    restartList();
    openConversation(conversation.value?.sessionId);
    closeDialog();
  }
  return (
    <Modal title="API key" onSubmit={use}>
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
      <DialogEnd>
        <button type="submit" class="button primary">
          Use it
        </button>
      </DialogEnd>
    </Modal>
  );
}
