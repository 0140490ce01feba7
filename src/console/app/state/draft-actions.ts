import { discardDraft, finishDraft } from "../api/calls.js";
import { ApiError, CODE } from "../api/http.js";
import type { Conversation } from "./conversation.js";
import { attempt, toast } from "./toasts.js";
import { dialog } from "./ui.js";

/** The writer may extend the draft meanwhile; then it is finished as it is after that. */
const TRIES = 10;

/** Ends a draft and keeps what it holds. Its writer is told at its next try to go on. */
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
    text: "What has been written of it is dropped, and its writer is told to stop. This cannot be undone.",
    label: "Discard",
    isDanger: true,
    run: async () => {
      await discardDraft(sessionId, messageId);
    },
  };
}
