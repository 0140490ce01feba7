import { expect } from "vitest";
import type { Access, TicketMark } from "../../../src/domain/access.js";
import { parseSearch } from "../../../src/domain/search.js";
import type { StorageOperations } from "../../../src/storage/storage-manager.js";
import type { StorageProvider } from "../../../src/storage/storage-provider.js";
import { message } from "./fixtures.js";

/** A call whose caller has limited access. */
export interface LimitedCall {
  readonly access: Access;
}

export const ADA: LimitedCall = { access: { owner: "ada" } };
export const BOB: LimitedCall = { access: { owner: "bob" } };

export const DELTA = { kind: "append_text", partId: "", text: "x" } as const;

/** The call of somebody with a ticket that has this mark. */
export function withTicket(sessionId: string, mark: TicketMark): LimitedCall {
  return { access: { ticket: { sessionId, ...mark } } };
}

/** The call of somebody with a ticket that was made just now. */
export async function withNewTicket(provider: StorageOperations, sessionId: string): Promise<LimitedCall> {
  return withTicket(sessionId, await provider.getTicketMark(sessionId));
}

/** Calls an operation on a session that is prepared by {@link makeRich}. `own` is one that the caller may see. */
type OperationCall = (provider: StorageOperations, sessionId: string, call: LimitedCall, own: string) => unknown;

/** Every operation that works on one session, under its name and, where it has several forms, what is special. */
export const SESSION_OPERATIONS: Readonly<Record<string, OperationCall>> = {
  getSession: (p, id, call) => p.getSession(id, call),
  loadSession: (p, id, call) => p.loadSession(id, { limit: 10, ...call }),
  getSessionMessages: (p, id, call) => p.getSessionMessages(id, call),
  listMessages: (p, id, call) => p.listMessages(id, { limit: 10, ...call }),
  "listMessages newest first": (p, id, call) => p.listMessages(id, { limit: 10, newestFirst: true, ...call }),
  "listMessages since": (p, id, call) => p.listMessages(id, { limit: 10, sinceMicros: 1, ...call }),
  "listMessages with ancestors": (p, id, call) => p.listMessages(id, { limit: 10, includeAncestors: true, ...call }),
  getMessage: (p, id, call) => p.getMessage(id, "m1", call),
  getMessageCount: (p, id, call) => p.getMessageCount(id, call),
  searchMessages: (p, sessionId, call) => p.searchMessages({ terms: parseSearch("m1"), limit: 9, sessionId, ...call }),
  sumUsage: (p, sessionId, call) => p.sumUsage({ groupBy: [{ by: "day" }], limit: 9, sessionId, ...call }),
  logMessages: (p, id, call) => p.logMessages(id, [message("n"), message("n2")], call),
  "logMessages again": (p, id, call) => p.logMessages(id, [message("m1")], call),
  "logMessages refused": (p, id, call) => p.logMessages(id, [message("n")], { expectedPosition: 7, ...call }),
  "logMessages before others": (p, id, call) => p.logMessages(id, [message("n", { timestampMicros: 1 })], call),
  logMessage: (p, sessionId, call) => p.logMessage({ ...message("n"), sessionId }, call),
  logTurn: (p, id, call) => onlyOutcome(p.logTurn(id, [{ messages: [message("n")], options: call }])),
  startDraft: (p, id, call) => p.startDraft(id, message("n"), call),
  "startDraft again": (p, id, call) => p.startDraft(id, message("d"), call),
  extendDraft: (p, id, call) => p.extendDraft(id, "d", 1, [DELTA], call),
  "extendDraft refused": (p, id, call) => p.extendDraft(id, "d", 7, [DELTA], call),
  finishDraft: (p, id, call) => p.finishDraft(id, "d", { version: 1, ...call }),
  discardDraft: (p, id, call) => p.discardDraft(id, "d", call),
  "discardDraft of none": (p, id, call) => p.discardDraft(id, "nothing", call),
  listDrafts: (p, id, call) => p.listDrafts(id, call),
  updateMessage: (p, id, call) => p.updateMessage(id, "m1", { role: "tool" }, call),
  "updateMessage refused": (p, id, call) =>
    p.updateMessage(id, "m1", { role: "tool" }, { expectedRevision: 777, ...call }),
  deleteMessage: (p, id, call) => p.deleteMessage(id, "m1", call),
  truncateMessages: (p, id, call) => p.truncateMessages(id, "m1", call),
  "truncateMessages to a revert": (p, id, call) => p.truncateMessages(id, null, { keepForUnrevert: true, ...call }),
  "truncateMessages refused": (p, id, call) => p.truncateMessages(id, "m1", { expectedRemovedCount: 77, ...call }),
  restoreMessages: (p, id, call) => p.restoreMessages(id, call),
  updateSession: (p, id, call) => p.updateSession(id, { title: "new" }, call),
  "updateSession with an owner": (p, id, call) => p.updateSession(id, { owner: "eve" }, call),
  "updateSession refused": (p, id, call) => p.updateSession(id, { title: "new" }, { expectedRevision: 777, ...call }),
  getTicketMark: (p, id, call) => p.getTicketMark(id, call),
  revokeTickets: (p, id, call) => p.revokeTickets(id, call),
  deleteSession: (p, id, call) => p.deleteSession(id, call),
  "forkConversation by fork": (p, id, call) => p.forkConversation(id, "new", { as: "fork", ...call }),
  "forkConversation at no message": (p, id, call) =>
    p.forkConversation(id, "new", { as: "fork", upToMessageId: "nothing", ...call }),
  "forkConversation by share": (p, id, call) => p.forkConversation(id, "new", { as: "share", ...call }),
  "forkConversation from it": (p, id, call, own) => p.forkConversation(id, own, { as: "copy", ...call }),
  "forkConversation into it": (p, id, call, own) => p.forkConversation(own, id, { as: "copy", ...call }),
  "createSession under it": (p, id, call) => p.createSession({ sessionId: "new", parentId: id }, call),
  uploadAttachment: (p, id, call) => p.uploadAttachment(id, { attachmentId: "new" }, bytes(), call),
  "uploadAttachment again": (p, id, call) => p.uploadAttachment(id, { attachmentId: "a" }, bytes(), call),
  getAttachment: (p, id, call) => p.getAttachment(id, "a", {}, call),
  listAttachments: (p, id, call) => p.listAttachments(id, { limit: 10 }, call),
  deleteAttachment: (p, id, call) => p.deleteAttachment(id, "a", call),
  createAnnotation: (p, id, call) => p.createAnnotation(id, { annotationId: "new", messageId: "m1", text: "x" }, call),
  "createAnnotation again": (p, id, call) =>
    p.createAnnotation(id, { annotationId: "n", messageId: "m1", thumb: "up", author: "ada" }, call),
  listAnnotations: (p, id, call) => p.listAnnotations(id, { messageId: "", limit: 10 }, call),
  updateAnnotation: (p, id, call) => p.updateAnnotation(id, "n", { text: "new" }, call),
  deleteAnnotation: (p, id, call) => p.deleteAnnotation(id, "n", call),
  followMessages: (p, id, call) => p.followMessages(id, undefined, call),
  "followMessages from a position": (p, id, call) => p.followMessages(id, 77, call),
  snapshotSession: async (p, id, call) => {
    if ((await p.snapshotSession(id, call)) === null) throw new Error("There is nothing to back up");
  },
};

/** Operations that concern no session of their own, or that only the service itself uses. */
export const OTHER_OPERATIONS: readonly (keyof StorageProvider)[] = [
  "listSessions",
  "visibleSessions",
  // Its cases are in session-feed.ts.
  "watchSessions",
  // Their cases are in bin.ts.
  "listDeletedSessions",
  "undeleteSession",
  "eraseMessage",
  "eraseOwner",
  "endAbandonedDrafts",
  "readTodos",
  "replaceTodos",
  "scanSessions",
  "readStored",
  "readStoredAttachment",
  "restoreSession",
  "sweep",
  "ping",
  "close",
];

/**
 * Prepares a session on which every operation succeeds: it has messages, a note `n` of ada, a revert to undo, the open
 * draft `d` and, where the store keeps attachments, the attachment `a`.
 */
export async function makeRich(provider: StorageOperations, sessionId: string, attaches: boolean): Promise<void> {
  for (const id of ["m1", "m2", "m3"]) await provider.logMessages(sessionId, [message(id)]);
  await provider.createAnnotation(sessionId, { annotationId: "n", messageId: "m1", thumb: "up", author: "ada" });
  await provider.truncateMessages(sessionId, "m2", { keepForUnrevert: true });
  await provider.startDraft(sessionId, message("d"));
  if (attaches) await provider.uploadAttachment(sessionId, { attachmentId: "a" }, bytes());
}

async function* bytes(): AsyncGenerator<Uint8Array> {
  yield Buffer.from("bytes");
}

/** What became of a call: the code and the text of its error, in which `<id>` stands for the session's id. */
export async function fateOf(call: unknown, sessionId: string): Promise<string> {
  try {
    await call;
    return "done";
  } catch (error) {
    const { code = "", message } = error as Error & { readonly code?: string };
    return `${code}: ${message.replaceAll(sessionId, "<id>")}`;
  }
}

/** Everything that callers without limits can find out about a session, and that the store keeps about it. */
export async function stateOf(provider: StorageOperations, sessionId: string): Promise<unknown> {
  const [session, messages, drafts, notes, mark, snapshot] = await Promise.all([
    provider.getSession(sessionId),
    provider.getSessionMessages(sessionId),
    provider.listDrafts(sessionId),
    provider.listAnnotations(sessionId, { messageId: "", limit: 10 }),
    provider.getTicketMark(sessionId),
    provider.snapshotSession(sessionId),
  ]);
  return { session, messages, drafts, notes, mark, isShared: snapshot?.isShared };
}

async function onlyOutcome(outcomes: ReturnType<StorageOperations["logTurn"]>): Promise<void> {
  const [outcome] = await outcomes;
  expect(outcome).toBeDefined();
  if (!outcome?.ok) throw outcome?.error;
}
