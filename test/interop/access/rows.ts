import type { Json, Rpc } from "../table/row.js";

/** Ids of the sessions that a request may name besides the one that it is about. */
export interface Others {
  /** A session that the caller may see and write to, if there is any. */
  readonly own: string;
  /** A new id with each call. */
  readonly fresh: string;
}

/** One request of an RPC, and who may make it. */
export interface AccessRow {
  readonly what?: string;
  /** The scope that a key needs. */
  readonly scope: "read" | "write" | "admin";
  /** The scope that a ticket for the session needs. */
  readonly ticket: "read" | "write" | "none";
  /**
   * What the request is about: one session, a list of all that the caller may see, or no session at all. `id`: it asks
   * for a new session with the id, which is refused without a word about whose the session is that has it.
   */
  readonly about: "session" | "list" | "nothing" | "id";
  /** The session does not stay as it is. Each call gets one of its own. */
  readonly isDestructive?: true;
  /** Sessions that are deleted or expired are reached as long as they are stored. */
  readonly reachesGone?: true;
  readonly request: (sessionId: string, others: Others) => Json;
}

const READ = { scope: "read", ticket: "read", about: "session" } as const;
const WRITE = { scope: "write", ticket: "write", about: "session" } as const;
/** What changes more than messages, which no ticket permits. */
const KEY_WRITE = { scope: "write", ticket: "none", about: "session" } as const;
const TODOS = { scope: "write", ticket: "none", about: "nothing" } as const;

const message = { info: { id: "new", role: "user" }, parts: [{ type: "text", text: "hello" }] };
const todo = { id: "t", content: "to do", status: "pending", priority: "low" };

/** Every RPC. What the table of methods says is repeated here, so that a change there is noticed. */
export const ACCESS_ROWS: Readonly<Record<Rpc, AccessRow | readonly AccessRow[]>> = {
  "SessionService.CreateSession": [
    { ...KEY_WRITE, what: "under it", request: (parentId, { fresh }) => ({ parentId, sessionId: fresh }) },
    { ...KEY_WRITE, what: "with its id", about: "id", request: (sessionId) => ({ sessionId }) },
  ],
  "SessionService.GetSession": { ...READ, request: (sessionId) => ({ sessionId }) },
  "SessionService.LoadSession": { ...READ, request: (sessionId) => ({ sessionId }) },
  "SessionService.ListSessions": [
    {
      scope: "read",
      ticket: "none",
      about: "list",
      what: "all",
      request: () => ({ view: "SESSION_VIEW_FULL", limit: 1000 }),
    },
    { scope: "read", ticket: "none", about: "list", what: "below it", request: (parentId) => ({ parentId }) },
    { scope: "read", ticket: "none", about: "list", what: "deleted", request: () => ({ deleted: true, limit: 1000 }) },
  ],
  "SessionService.UpdateSession": { ...KEY_WRITE, request: (sessionId) => ({ sessionId, metadata: { a: 1 } }) },
  "SessionService.DeleteSession": { ...KEY_WRITE, isDestructive: true, request: (sessionId) => ({ sessionId }) },
  "SessionService.ForkSession": {
    ...KEY_WRITE,
    request: (sessionId, { fresh }) => ({ sessionId, newSessionId: fresh }),
  },
  "SessionService.ShareSession": {
    ...KEY_WRITE,
    request: (sessionId, { fresh }) => ({ sessionId, newSessionId: fresh }),
  },
  "SessionService.RevertSession": { ...KEY_WRITE, request: (sessionId) => ({ sessionId, upToMessageId: "m2" }) },
  "SessionService.UnrevertSession": { ...KEY_WRITE, request: (sessionId) => ({ sessionId }) },
  "SessionService.CreateTicket": { ...KEY_WRITE, request: (sessionId) => ({ sessionId, scope: "read" }) },
  "SessionService.RevokeTickets": { ...KEY_WRITE, isDestructive: true, request: (sessionId) => ({ sessionId }) },
  "SessionService.UndeleteSession": { ...KEY_WRITE, request: (sessionId) => ({ sessionId }) },
  "SessionService.WatchSessions": { scope: "read", ticket: "none", about: "list", request: () => ({}) },
  "MessageService.AppendMessage": [
    { ...WRITE, request: (sessionId) => ({ sessionId, message }) },
    {
      ...WRITE,
      what: "making the session",
      about: "id",
      request: (sessionId) => ({ sessionId, message, createSession: true }),
    },
  ],
  "MessageService.AppendMessages": { ...WRITE, request: (sessionId) => ({ sessionId, messages: [message] }) },
  "MessageService.GetMessage": { ...READ, request: (sessionId) => ({ sessionId, messageId: "m1" }) },
  "MessageService.ListMessages": {
    ...READ,
    request: (sessionId) => ({ sessionId, includeAncestors: true, newestFirst: true }),
  },
  "MessageService.SearchMessages": [
    { ...READ, what: "in it", request: (sessionId) => ({ sessionId, q: "word" }) },
    { scope: "read", ticket: "none", about: "list", what: "in all", request: () => ({ q: "word", limit: 1000 }) },
  ],
  "UsageService.SumUsage": [
    { ...READ, ticket: "none", what: "in it", request: (sessionId) => ({ sessionId, groupBy: "day" }) },
    { scope: "read", ticket: "none", about: "list", what: "in all", request: () => ({ groupBy: "session" }) },
  ],
  "MessageService.CountMessages": { ...READ, request: (sessionId) => ({ sessionId }) },
  "MessageService.CopyMessages": [
    { ...KEY_WRITE, what: "from it", request: (sessionId, { own }) => ({ sessionId, targetSessionId: own }) },
    { ...KEY_WRITE, what: "into it", request: (targetSessionId, { own }) => ({ sessionId: own, targetSessionId }) },
  ],
  "MessageService.TruncateMessages": { ...KEY_WRITE, request: (sessionId) => ({ sessionId, upToMessageId: "m2" }) },
  "MessageService.UpdateMessage": {
    ...WRITE,
    request: (sessionId) => ({ sessionId, messageId: "m1", message: { info: { role: "tool" } } }),
  },
  "MessageService.DeleteMessage": { ...KEY_WRITE, request: (sessionId) => ({ sessionId, messageId: "new" }) },
  "MessageService.EraseMessage": {
    scope: "admin",
    ticket: "none",
    about: "session",
    reachesGone: true,
    request: (sessionId) => ({ sessionId, messageId: "new" }),
  },
  "MessageService.WatchMessages": { ...READ, request: (sessionId) => ({ sessionId, fromPosition: "0" }) },
  "MessageService.StartDraft": {
    ...WRITE,
    request: (sessionId) => ({ sessionId, message: { info: { id: "d", role: "assistant" } } }),
  },
  "MessageService.ExtendDraft": {
    ...WRITE,
    request: (sessionId) => ({ sessionId, messageId: "d", version: "1", deltas: [{ appendText: { text: "more" } }] }),
  },
  "MessageService.FinishDraft": { ...WRITE, request: (sessionId) => ({ sessionId, messageId: "d", version: "9" }) },
  "MessageService.DiscardDraft": { ...WRITE, request: (sessionId) => ({ sessionId, messageId: "none" }) },
  "MessageService.ListDrafts": { ...READ, request: (sessionId) => ({ sessionId }) },
  "AttachmentService.UploadAttachment": [
    { ...WRITE, request: (sessionId) => ({ sessionId, attachmentId: "new", chunk: "aGVsbG8=" }) },
    {
      ...WRITE,
      what: "making the session",
      about: "id",
      request: (sessionId) => ({ sessionId, attachmentId: "new", chunk: "aGVsbG8=", createSession: true }),
    },
  ],
  "AttachmentService.GetAttachment": { ...READ, request: (sessionId) => ({ sessionId, attachmentId: "a" }) },
  "AttachmentService.ListAttachments": { ...READ, request: (sessionId) => ({ sessionId }) },
  "AttachmentService.DeleteAttachment": { ...WRITE, request: (sessionId) => ({ sessionId, attachmentId: "none" }) },
  "AnnotationService.CreateAnnotation": {
    ...WRITE,
    isDestructive: true,
    request: (sessionId) => ({ sessionId, annotation: { annotationId: "new", messageId: "m1", thumb: "up" } }),
  },
  "AnnotationService.ListAnnotations": { ...READ, request: (sessionId) => ({ sessionId }) },
  "AnnotationService.UpdateAnnotation": {
    ...WRITE,
    request: (sessionId) => ({ sessionId, annotationId: "n1", annotation: { thumb: "down" }, updateMask: "thumb" }),
  },
  "AnnotationService.DeleteAnnotation": {
    ...WRITE,
    isDestructive: true,
    request: (sessionId) => ({ sessionId, annotationId: "n1" }),
  },
  "TodoService.ListTodos": {
    scope: "read",
    ticket: "none",
    about: "nothing",
    request: (sessionId) => ({ sessionId }),
  },
  "TodoTrackerService.ReplaceTodos": { ...TODOS, request: () => ({ todos: [todo] }) },
  "TodoTrackerService.AddTodo": { ...TODOS, request: () => ({ todo }) },
  "TodoTrackerService.UpdateTodo": { ...TODOS, request: () => ({ todo }) },
  "TodoTrackerService.RemoveTodo": { ...TODOS, request: () => ({ todoId: "none" }) },
};
