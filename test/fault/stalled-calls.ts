import type { Call } from "../../src/domain/call.js";
import { parseSearch } from "../../src/domain/search.js";
import type { SessionSnapshot } from "../../src/domain/session-image.js";
import type { DraftPool } from "../../src/pool/draft-pool.js";
import type { RootPool } from "../../src/pool/root-pool.js";
import type { SessionPool } from "../../src/pool/session-pool.js";
import type { TodoTracker } from "../../src/pool/todo-tracker.js";
import type { StorageProvider } from "../../src/storage/storage-provider.js";

/** The names of an object's methods. A method without an entry in a table below does not compile. */
type Methods<T> = { [K in keyof T]: T[K] extends (...args: never[]) => Promise<unknown> ? K : never }[keyof T];
type Calls<T, Beside = unknown> = {
  readonly [K in Methods<T>]: (target: T, call: Call, beside: Beside) => Promise<unknown>;
};

const MESSAGE = { role: "user", parts: [{ id: "", type: "text", text: "new" }] };
const DELTA = { kind: "append_text", partId: "", text: "more" } as const;
const TODO = { id: "t", content: "c", status: "pending", priority: "low" };
const PAGE = { limit: 2 };

/** Every operation of a provider, on the session `s` with the messages `m1` to `m3` and the draft `d`. */
export const PROVIDER_CALLS: Calls<StorageProvider, SessionSnapshot> = {
  createSession: (p, call) => p.createSession({ sessionId: "new" }, call),
  getTicketMark: (p, call) => p.getTicketMark("s", call),
  revokeTickets: (p, call) => p.revokeTickets("s", call),
  visibleSessions: (p, call) => p.visibleSessions(["s"], call),
  getSession: (p, call) => p.getSession("s", call),
  loadSession: (p, call) => p.loadSession("s", { ...PAGE, ...call }),
  listSessions: (p, call) => p.listSessions({ parentId: "", ...PAGE, ...call }),
  updateSession: (p, call) => p.updateSession("s", { title: "t" }, call),
  deleteSession: (p, call) => p.deleteSession("s", call),
  undeleteSession: (p, call) => p.undeleteSession("s", call),
  listDeletedSessions: (p, call) => p.listDeletedSessions({ ...PAGE, ...call }),
  getSessionMessages: (p, call) => p.getSessionMessages("s", call),
  listMessages: (p, call) => p.listMessages("s", { ...PAGE, ...call }),
  getMessage: (p, call) => p.getMessage("s", "m1", call),
  getMessageCount: (p, call) => p.getMessageCount("s", call),
  searchMessages: (p, call) => p.searchMessages({ terms: parseSearch("new"), ...PAGE, ...call }),
  sumUsage: (p, call) => p.sumUsage({ groupBy: [{ by: "day" }], ...PAGE, ...call }),
  logMessages: (p, call) => p.logMessages("s", [{ ...MESSAGE, id: "a1" }], call),
  logMessage: (p, call) => p.logMessage({ ...MESSAGE, id: "a2", sessionId: "s" }, call),
  logTurn: async (p, call) => {
    const [outcome] = await p.logTurn("s", [{ messages: [{ ...MESSAGE, id: "a3" }], options: call }]);
    if (outcome?.ok === false) throw outcome.error;
  },
  startDraft: (p, call) => p.startDraft("s", { ...MESSAGE, id: "d2" }, call),
  extendDraft: (p, call) => p.extendDraft("s", "d", 1, [DELTA], call),
  finishDraft: (p, call) => p.finishDraft("s", "d", { version: 1, ...call }),
  discardDraft: (p, call) => p.discardDraft("s", "d", call),
  listDrafts: (p, call) => p.listDrafts("s", call),
  endAbandonedDrafts: (p, call) => p.endAbandonedDrafts(call),
  forkConversation: (p, call) => p.forkConversation("s", "fork", { as: "fork", ...call }),
  truncateMessages: (p, call) => p.truncateMessages("s", "m1", call),
  restoreMessages: (p, call) => p.restoreMessages("s", call),
  updateMessage: (p, call) => p.updateMessage("s", "m1", { parts: MESSAGE.parts }, call),
  deleteMessage: (p, call) => p.deleteMessage("s", "m1", call),
  eraseMessage: (p, call) => p.eraseMessage("s", "m1", call),
  eraseOwner: (p, call) => p.eraseOwner("ada", call),
  uploadAttachment: (p, call) => p.uploadAttachment("s", { attachmentId: "b" }, bytes(), call),
  getAttachment: async (p, call) => {
    const { pieces } = await p.getAttachment("s", "a", {}, call);
    for await (const _ of pieces);
  },
  listAttachments: (p, call) => p.listAttachments("s", PAGE, call),
  deleteAttachment: (p, call) => p.deleteAttachment("s", "a", call),
  createAnnotation: (p, call) => p.createAnnotation("s", { annotationId: "n2", messageId: "m1", thumb: "up" }, call),
  listAnnotations: (p, call) => p.listAnnotations("s", { messageId: "", ...PAGE }, call),
  updateAnnotation: (p, call) => p.updateAnnotation("s", "n", { thumb: "down" }, call),
  deleteAnnotation: (p, call) => p.deleteAnnotation("s", "n", call),
  followMessages: (p, call) => p.followMessages("s", 0, call),
  watchSessions: (p, call) => p.watchSessions({}, undefined, call),
  readTodos: (p, call) => p.readTodos(call),
  replaceTodos: (p, call) => p.replaceTodos([TODO], 0, call),
  scanSessions: (p, call) => p.scanSessions("", 10, call),
  snapshotSession: (p, call) => p.snapshotSession("s", call),
  readStored: (p, call, snapshot) => p.readStored(snapshot, snapshot.messages[0]!, call),
  readStoredAttachment: (p, call, snapshot) => p.readStoredAttachment(snapshot, `${snapshot.uid}.0`, call),
  restoreSession: (p, call, snapshot) =>
    p.restoreSession({ ...snapshot, sessionId: "restored", messages: [], undo: null, ancestry: [] }, noNumbers, call),
  sweep: (p, call) => p.sweep(call),
  ping: (p, call) => p.ping(call),
  close: (p, call) => p.close(call),
};

/** Every method of the pools that a program which embeds the package calls. */
export const SESSION_CALLS: Calls<SessionPool> = {
  getMessageCount: (s, call) => s.getMessageCount("s", call),
  getMessage: (s, call) => s.getMessage("s", "m1", call),
  getMessages: (s, call) => s.getMessages("s", call),
  listMessages: (s, call) => s.listMessages("s", { ...PAGE, ...call }),
  searchMessages: (s, call) => s.searchMessages({ q: "new", ...PAGE, ...call }),
  watchSessions: (s, call) => s.watchSessions({}, undefined, call),
  sumUsage: (s, call) => s.sumUsage({ groupBy: "day", ...PAGE, ...call }),
  followMessages: (s, call) => s.followMessages("s", undefined, call),
  appendMessage: (s, call) => s.appendMessage("s", MESSAGE, call),
  appendMessages: (s, call) => s.appendMessages("missing", [MESSAGE], { createSession: true, ...call }),
  copyMessages: (s, call) => s.copyMessages("s", "other", call),
  copyMessagesCounted: (s, call) => s.copyMessagesCounted("s", "other", call),
  truncateMessages: (s, call) => s.truncateMessages("s", "m1", call),
  updateMessage: (s, call) => s.updateMessage("s", "m1", { parts: MESSAGE.parts }, call),
  deleteMessage: (s, call) => s.deleteMessage("s", "m1", call),
  createSession: (s, call) => s.createSession({}, call),
  getTicketMark: (s, call) => s.getTicketMark("s", call),
  revokeTickets: (s, call) => s.revokeTickets("s", call),
  visibleSessions: (s, call) => s.visibleSessions(["s"], call),
  getSession: (s, call) => s.getSession("s", call),
  loadSession: (s, call) => s.loadSession("s", { ...PAGE, ...call }),
  listSessions: (s, call) => s.listSessions({ view: "full", labels: ["a=1"], ...PAGE, ...call }),
  updateSession: (s, call) => s.updateSession("s", { title: "t" }, call),
  deleteSession: (s, call) => s.deleteSession("s", call),
  undeleteSession: (s, call) => s.undeleteSession("s", call),
  listDeletedSessions: (s, call) => s.listDeletedSessions({ ...PAGE, ...call }),
  forkSession: (s, call) => s.forkSession("s", call),
  shareSession: (s, call) => s.shareSession("s", call),
  revertSession: (s, call) => s.revertSession("s", "m1", call),
  eraseMessage: (s, call) => s.eraseMessage("s", "m1", call),
  eraseOwner: (s, call) => s.eraseOwner("ada", call),
  unrevertSession: (s, call) => s.unrevertSession("s", call),
};

export const DRAFT_CALLS: Calls<DraftPool> = {
  start: (d, call) => d.start("missing", { ...MESSAGE, id: "d3" }, { createSession: true, ...call }),
  extend: (d, call) => d.extend("s", "d", 1, [DELTA], call),
  finish: (d, call) => d.finish("s", "d", { version: 1, ...call }),
  discard: (d, call) => d.discard("s", "d", call),
  list: (d, call) => d.list("s", call),
};

export const TODO_CALLS: Calls<TodoTracker> = {
  entries: (t, call) => t.entries(call),
  list: (t, call) => t.list(call),
  replace: (t, call) => t.replace([TODO], call),
  add: (t, call) => t.add(TODO, call),
  addMissing: (t, call) => t.addMissing([TODO], call),
  update: (t, call) => t.update(TODO, ["status"], call),
  remove: (t, call) => t.remove("t", call),
};

export const ROOT_CALLS: Calls<RootPool> = {
  sweep: (root, call) => root.sweep(call),
  endAbandonedDrafts: (root, call) => root.endAbandonedDrafts(call),
  close: (root, call) => root.close(call),
};

async function* bytes(): AsyncGenerator<Uint8Array> {
  yield Buffer.from("new");
}

async function* noNumbers(): AsyncGenerator<never> {}
