import { discardDraft, finishDraft } from "../api/calls.js";
import { ApiError, CODE } from "../api/http.js";
import type { Conversation } from "./conversation.js";
import { attempt, toast } from "./toasts.js";
import { dialog } from "./ui.js";

/** How often to try again when the writer has extended the draft meanwhile. */
const TRIES = 10;

/** Finishes a draft with what it holds. Its writer learns of this when it next tries to extend it. */
export function finish({ sessionId, drafts }: Conversation, messageId: string): void {
  void attempt("Stop", async () => {
    for (let tries = 1; ; tries++) {
      const draft = drafts.open.value.find(({ message }) => message.info.id === messageId);
      if (draft === undefined) return;
      try {
        await finishDraft(sessionId, messageId, draft.version);
        return toast("Stopped: what was written is a message now");
      } catch (error) {
        if (!(error instanceof ApiError && error.code === CODE.aborted && tries < TRIES)) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });
}

export function discard({ sessionId }: Conversation, messageId: string): void {
  dialog.value = {
    kind: "confirm",
    title: "Discard this draft?",
    text: "What has been written so far is dropped, and the writer is told to stop. This cannot be undone.",
    label: "Discard",
    isDanger: true,
    run: async () => {
      await discardDraft(sessionId, messageId);
    },
  };
}
