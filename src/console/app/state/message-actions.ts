import {
  deleteMessage,
  eraseMessage,
  forkSession,
  getMessage,
  getSession,
  revertSession,
  unrevertSession,
} from "../api/calls.js";
import { ApiError, CODE } from "../api/http.js";
import type { Message } from "../api/types.js";
import { plural } from "../text/format.js";
import type { Conversation } from "./conversation.js";
import { go } from "./route.js";
import { noteSession } from "./session-list.js";
import { attempt, isConflict, toast } from "./toasts.js";
import { dialog } from "./ui.js";

/** Makes a new session from this message and all before it. */
export function forkAt({ sessionId, session }: Conversation, message: Message, position: number): void {
  dialog.value = {
    kind: "prompt",
    title: "Fork here",
    text: `The new session begins with ${plural(position + 1, "message")}, up to and including this one. This session stays as it is.`,
    field: "Title of the fork",
    value: session.value?.title ?? "",
    label: "Fork",
    run: async (title) => {
      const fork = await forkSession(sessionId, { upToMessageId: message.info.id, ...(title && { title }) });
      noteSession(fork.session);
      go({ view: "session", sessionId: fork.session.sessionId });
      toast("This is the fork", {
        action: { label: "Back", run: () => go({ view: "session", sessionId, at: position }) },
        about: sessionId,
      });
    },
  };
}

/**
 * Reverts the session to this message. The service keeps what came after it for an unrevert. `now`: how many messages
 * that is, when it has changed since the reader was asked.
 */
export function revertTo(conversation: Conversation, message: Message, position: number, now?: number): void {
  const removed = now ?? conversation.history.count.value - position - 1;
  if (removed <= 0) {
    toast("This is the last message: there is nothing after it to revert");
    return;
  }
  dialog.value = {
    kind: "confirm",
    title: "Revert to here?",
    text: `${now === undefined ? "" : "The session has changed meanwhile, so nothing was done yet. Now "}${plural(removed, "message")} after this one will be reverted. You can unrevert them until the history changes in another way.`,
    label: "Revert",
    isDanger: true,
    run: async () => {
      const { sessionId } = conversation;
      try {
        const { session, removedCount } = await revertSession(
          sessionId,
          { upToMessageId: message.info.id },
          String(removed),
        );
        conversation.note(session);
        toast(`${plural(Number(removedCount), "message")} reverted`, {
          action: { label: "Unrevert", run: () => unrevert(conversation) },
          about: sessionId,
          // A second revert is the one that an unrevert takes back.
          key: `revert of ${sessionId}`,
          isOver: () => conversation.session.value?.reverted === false,
          until: conversation.signal,
        });
      } catch (error) {
        if (!isConflict(error)) throw error;
        await askAgain(conversation, message);
      }
    },
  };
}

/** Asks once more with the number of messages as it is now: nothing that the reader has not been told of is removed. */
async function askAgain(conversation: Conversation, message: Message): Promise<void> {
  const { sessionId } = conversation;
  const [session, found] = [await getSession(sessionId), await getMessage(sessionId, message.info.id)];
  const position = Number(found.info.position);
  revertTo(conversation, message, position, Number(session.messageCount) - position - 1);
}

export function unrevert(conversation: Conversation): void {
  void attempt("Unrevert", async () => {
    try {
      const { session, restoredCount } = await unrevertSession(conversation.sessionId);
      conversation.note(session);
      toast(`${plural(Number(restoredCount), "message")} restored`);
    } catch (error) {
      // The page had not yet heard that somebody else has unreverted it.
      if (!(error instanceof ApiError && error.code === CODE.failedPrecondition)) throw error;
      toast("There is nothing to unrevert");
    }
  });
}

/** Removes one message for good. */
export function removeMessage(conversation: Conversation, message: Message, position: number): void {
  dialog.value = {
    kind: "confirm",
    title: `Delete message #${position}?`,
    text: "It is deleted for good, and the messages after it move up. Forks made earlier keep it. This cannot be undone, and earlier reverts can no longer be unreverted.",
    label: "Delete",
    isDanger: true,
    run: async () => {
      await deleteMessage(conversation.sessionId, message.info.id);
      toast(`Message #${position} is deleted`);
    },
  };
}

export function edit(conversation: Conversation, message: Message, position: number): void {
  dialog.value = { kind: "edit", conversation, messageId: message.info.id, position };
}

/** Overwrites the content of a message and of all its copies. This requires the scope `admin`. */
export function erase({ sessionId }: Conversation, message: Message, position: number): void {
  dialog.value = {
    kind: "confirm",
    title: `Erase message #${position} everywhere?`,
    text: "Its content is overwritten here, in every fork, share and copy, and in what was reverted or deleted. The message itself stays, without content. This cannot be undone, needs a key with the scope admin, and may take minutes.",
    label: "Erase",
    isDanger: true,
    typed: "erase",
    run: async () => {
      const { copyCount } = await eraseMessage(sessionId, message.info.id);
      toast(`Message #${position} is erased, in ${plural(Number(copyCount), "place")} of the store`);
    },
  };
}
