import { deleteSession, forkSession, revokeTickets, shareSession, updateSession } from "../api/calls.js";
import type { Session } from "../api/types.js";
import { plural } from "../text/format.js";
import { binDays, bringOneBack, whenBack } from "./bin.js";
import type { Conversation } from "./conversation.js";
import { go } from "./route.js";
import { forgetSession, noteSession } from "./session-list.js";
import { attempt, toast } from "./toasts.js";
import { dialog } from "./ui.js";

export function titleOf({ title, sessionId }: Pick<Session, "title" | "sessionId">): string {
  return title || sessionId;
}

export async function shareCopy(session: Session): Promise<void> {
  const shared = await shareSession(session.sessionId);
  noteSession(shared.session);
  const { sessionId } = shared.session;
  const open = { label: "Open", run: () => go({ view: "session", sessionId }) };
  toast(`Shared as ${sessionId}`, { action: open, about: sessionId });
}

export function endLinks(session: Session): void {
  dialog.value = {
    kind: "confirm",
    title: "End all links of this session?",
    text: "Every link to this session stops working, whoever made it, and pages that it has opened end at once. Copies and keys are not affected. New links can be made afterwards.",
    label: "End all links",
    isDanger: true,
    run: async () => {
      await revokeTickets(session.sessionId);
      toast(`All links of “${titleOf(session)}” have ended`);
    },
  };
}

/** Opens the labels for editing, one per line. Saving replaces all labels. */
export function editLabels(session: Session, conversation: Conversation): void {
  dialog.value = {
    kind: "prompt",
    title: "Labels",
    text: "One per line, as key=value. To find sessions by a label, type key=value above the list.",
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
    text:
      binDays > 0
        ? `It can be brought back for ${plural(binDays, "day")}, by Undo or from the bin. Forks of it keep their messages. Drafts and links to it end.`
        : "The session and its messages are deleted for good. Forks of it keep theirs. This cannot be undone.",
    label: "Delete",
    isDanger: true,
    run: async () => {
      const { sessionId } = session;
      await deleteSession(sessionId);
      forgetSession(sessionId);
      go({ view: "home" });
      const undo = async () => {
        noteSession(await bringOneBack(sessionId));
        go({ view: "session", sessionId });
      };
      const action = { label: "Undo", run: () => void attempt("Undo", undo) };
      toast(`“${titleOf(session)}” is deleted`, binDays > 0 ? { action, isOver: whenBack([sessionId]) } : {});
    },
  };
}

/** Forks a session with all of its messages. */
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
