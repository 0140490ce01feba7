import {
  deleteMessage,
  deleteSession,
  forkSession,
  revertSession,
  shareSession,
  unrevertSession,
  updateSession,
} from "../api/calls.js";
import type { Message, Session } from "../api/types.js";
import { plural } from "../text/format.js";
import type { Conversation } from "./conversation.js";
import { go } from "./route.js";
import { forgetSession, noteSession } from "./session-list.js";
import { attempt, toast } from "./toasts.js";
import { dialog } from "./ui.js";

export function titleOf({ title, sessionId }: Pick<Session, "title" | "sessionId">): string {
  return title || sessionId;
}

/** Makes a new session from this message and all before it. */
export function forkAt({ sessionId, session }: Conversation, message: Message, position: number): void {
  dialog.value = {
    kind: "prompt",
    title: "Fork here",
    text: `The new session begins with ${plural(position + 1, "message")}, up to and with this one. This session stays as it is.`,
    field: "Title of the fork",
    value: session.value?.title ?? "",
    label: "Fork",
    run: async (title) => {
      const fork = await forkSession(sessionId, { upToMessageId: message.info.id, ...(title && { title }) });
      noteSession(fork.session);
      go({ view: "session", sessionId: fork.session.sessionId });
      toast("This is the fork", {
        action: { label: "Back", run: () => go({ view: "session", sessionId, at: position }) },
      });
    },
  };
}

/** Takes back what came after this message; the service keeps it for an undo. */
export function revertTo(conversation: Conversation, message: Message, position: number): void {
  const removed = conversation.history.count.value - position - 1;
  if (removed <= 0) {
    toast("This is the last message: there is nothing after it to take back");
    return;
  }
  dialog.value = {
    kind: "confirm",
    title: "Revert to here?",
    text: `${plural(removed, "message")} after this one will be taken back. You can undo this until the history changes in another way.`,
    label: "Revert",
    isDanger: true,
    run: async () => {
      const { session, removedCount } = await revertSession(conversation.sessionId, { upToMessageId: message.info.id });
      conversation.note(session);
      const undo = { label: "Undo", run: () => unrevert(conversation) };
      toast(`${plural(Number(removedCount), "message")} taken back`, { action: undo });
    },
  };
}

export function unrevert(conversation: Conversation): void {
  void attempt("Undo", async () => {
    const { session, restoredCount } = await unrevertSession(conversation.sessionId);
    conversation.note(session);
    toast(`${plural(Number(restoredCount), "message")} brought back`);
  });
}

export function share(session: Session): void {
  dialog.value = {
    kind: "confirm",
    title: "Share a copy?",
    text: "A new session gets a copy of all messages. Whoever has a key of this server and its id can read it, and what is added here later stays here.",
    label: "Share",
    isDanger: false,
    run: async () => {
      const shared = await shareSession(session.sessionId);
      noteSession(shared.session);
      const { sessionId } = shared.session;
      toast(`Shared as ${sessionId}`, { action: { label: "Open", run: () => go({ view: "session", sessionId }) } });
    },
  };
}

/** Opens the labels as lines; all of them are replaced. */
export function editLabels(session: Session, conversation: Conversation): void {
  dialog.value = {
    kind: "prompt",
    title: "Labels",
    text: "One in each line, as key=value. Lists are found by them: type key=value above the list.",
    field: "Labels",
    value: Object.entries(session.labels ?? {})
      .map(([key, value]) => `${key}=${value}`)
      .join("\n"),
    isMultiline: true,
    label: "Save",
    run: async (text) => {
      const lines = text.split("\n").filter((line) => line.trim() !== "");
      const labels = Object.fromEntries(lines.map(splitLabel));
      conversation.note(await updateSession(session.sessionId, { labels, updateMask: "labels" }));
    },
  };
}

function splitLabel(line: string): readonly [string, string] {
  const at = line.indexOf("=");
  return at < 0 ? [line.trim(), ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
}

/** Removes one message for good. */
export function removeMessage(conversation: Conversation, message: Message, position: number): void {
  dialog.value = {
    kind: "confirm",
    title: `Delete message #${position}?`,
    text: "It goes for good, and what follows moves up. Forks made before keep it. This cannot be undone, and earlier reverts cannot be undone any more.",
    label: "Delete",
    isDanger: true,
    run: async () => {
      await deleteMessage(conversation.sessionId, message.info.id);
      toast(`Message #${position} is deleted`);
    },
  };
}

export function rename(session: Session, conversation?: Conversation): void {
  dialog.value = {
    kind: "prompt",
    title: "Rename",
    text: "",
    field: "Title",
    value: session.title,
    label: "Rename",
    run: async (title) => {
      const renamed = await updateSession(session.sessionId, { title, updateMask: "title" });
      if (conversation) conversation.note(renamed);
      else noteSession(renamed);
    },
  };
}

export function remove(session: Session): void {
  dialog.value = {
    kind: "confirm",
    title: `Delete “${titleOf(session)}”?`,
    text: "The session and its messages are deleted for good. Forks of it keep theirs. This cannot be undone.",
    label: "Delete",
    isDanger: true,
    run: async () => {
      await deleteSession(session.sessionId);
      forgetSession(session.sessionId);
      go({ view: "home" });
      toast(`“${titleOf(session)}” is deleted`);
    },
  };
}

/** A fork with all messages. */
export function forkWhole(session: Session): void {
  dialog.value = {
    kind: "prompt",
    title: "Fork",
    text: "The new session begins with all messages of this one. This session stays as it is.",
    field: "Title of the fork",
    value: session.title,
    label: "Fork",
    run: async (title) => {
      const fork = await forkSession(session.sessionId, title ? { title } : {});
      noteSession(fork.session);
      go({ view: "session", sessionId: fork.session.sessionId });
    },
  };
}
