import type { StorageOperations } from "../../../src/storage/storage-manager.js";
import type { TurnAppend } from "../../../src/storage/storage-provider.js";

/** Which of the arguments of each operation holds the call. */
const CALL_AT: Readonly<Partial<Record<keyof StorageOperations, number>>> = {
  createSession: 1,
  getSession: 1,
  loadSession: 1,
  listSessions: 0,
  updateSession: 2,
  deleteSession: 1,
  undeleteSession: 1,
  listDeletedSessions: 0,
  getSessionMessages: 1,
  listMessages: 1,
  getMessage: 2,
  getMessageCount: 1,
  searchMessages: 0,
  sumUsage: 0,
  logMessages: 2,
  startDraft: 2,
  extendDraft: 4,
  finishDraft: 2,
  discardDraft: 2,
  listDrafts: 1,
  uploadAttachment: 3,
  getAttachment: 3,
  listAttachments: 2,
  deleteAttachment: 2,
  createAnnotation: 2,
  listAnnotations: 2,
  updateAnnotation: 3,
  deleteAnnotation: 2,
  forkConversation: 2,
  truncateMessages: 2,
  restoreMessages: 1,
  updateMessage: 3,
  deleteMessage: 2,
};

/** A provider whose callers are all bound to one owner. */
export function boundTo(owner: string, provider: StorageOperations): StorageOperations {
  const access = { owner };
  return new Proxy(provider, {
    get(target, name) {
      const operation: unknown = Reflect.get(target, name, target);
      if (typeof operation !== "function") return operation;
      if (name === "logTurn") {
        return (sessionId: string, appends: readonly TurnAppend[]) => {
          const bound = appends.map((append) => ({ ...append, options: { ...append.options, access } }));
          return target.logTurn(sessionId, bound);
        };
      }
      const at = CALL_AT[name as keyof StorageOperations];
      if (at === undefined) throw new Error(`It is not known which argument of ${String(name)} holds the call`);
      return (...args: readonly unknown[]) => {
        const given = Array.from({ length: Math.max(args.length, at + 1) }, (_, i) => args[i]);
        return Reflect.apply(operation, target, given.with(at, { ...(given[at] as object), access }));
      };
    },
  });
}
