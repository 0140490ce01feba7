import type { Call } from "../../src/domain/call.js";
import type { MessageChange, NewChatMessage } from "../../src/domain/chat-message.js";
import type { MessageCursor, SessionCursor } from "../../src/domain/page.js";
import type { NewSession, SessionChange } from "../../src/domain/session.js";
import { RootPool } from "../../src/pool/root-pool.js";
import type { SessionPool } from "../../src/pool/session-pool.js";
import {
  type ForkOptions,
  type ForkResult,
  type ListMessagesOptions,
  type LogOptions,
  type RevisionOptions,
  StorageProvider,
  type TruncateOptions,
} from "../../src/storage/storage-provider.js";

/**
 * A process as its clients see it: a pool, with its turn lock and its queue of appends, over a provider. Its methods
 * have the names of the provider's operations, so that both can be called in the same way.
 */
export class PooledProvider extends StorageProvider {
  readonly #storage: StorageProvider;
  readonly #pool: SessionPool;

  constructor(storage: StorageProvider) {
    super();
    this.#storage = storage;
    this.#pool = new RootPool({ storage, logger: { warn: () => {} } }).sessions;
  }

  override createSession(session: NewSession, call?: Call) {
    return this.#pool.createSession(session, call);
  }

  override getSession(sessionId: string, call?: Call) {
    return this.#pool.getSession(sessionId, call);
  }

  override loadSession(sessionId: string, options: { limit: number; cursor?: MessageCursor | undefined } & Call) {
    return this.#pool.loadSession(sessionId, options);
  }

  override listSessions(options: { parentId: string; limit: number; cursor?: SessionCursor | undefined } & Call) {
    return this.#pool.listSessions(options);
  }

  override updateSession(
    sessionId: string,
    change: SessionChange,
    options?: { expectedRevision?: number | undefined } & Call,
  ) {
    return this.#pool.updateSession(sessionId, change, options);
  }

  override deleteSession(sessionId: string, call?: Call) {
    return this.#pool.deleteSession(sessionId, call);
  }

  override getMessage(sessionId: string, messageId: string, call?: Call) {
    return this.#pool.getMessage(sessionId, messageId, call);
  }

  override getMessageCount(sessionId: string, call?: Call) {
    return this.#pool.getMessageCount(sessionId, call);
  }

  override listMessages(sessionId: string, options: ListMessagesOptions) {
    return this.#pool.listMessages(sessionId, options);
  }

  override logMessages(sessionId: string, messages: readonly NewChatMessage[], options?: LogOptions) {
    return this.#pool.appendMessages(sessionId, messages, options);
  }

  override async forkConversation(sourceId: string, targetId: string, options: ForkOptions): Promise<ForkResult> {
    const { as, ...given } = options;
    if (as === "copy") return this.#pool.copyMessagesCounted(sourceId, targetId, given);
    // The pool can share only whole sessions, and gives them no title. Therefore shares go straight to the provider.
    // What the pool adds to them is the same as for forks.
    if (as === "share") return this.#storage.forkConversation(sourceId, targetId, options);
    return this.#pool.forkSession(sourceId, { ...given, newSessionId: targetId });
  }

  override updateMessage(sessionId: string, messageId: string, change: MessageChange, options?: RevisionOptions) {
    return this.#pool.updateMessage(sessionId, messageId, change, options);
  }

  override deleteMessage(sessionId: string, messageId: string, options?: RevisionOptions) {
    return this.#pool.deleteMessage(sessionId, messageId, options);
  }

  /**
   * Takes the pool's lock, but leaves out the session that a revert also answers, because that is read at another
   * moment.
   */
  override truncateMessages(sessionId: string, upToMessageId: string, options: TruncateOptions = {}) {
    if (!options.keepForUnrevert) return this.#pool.truncateMessages(sessionId, upToMessageId, options);
    return this.#pool.turnLock.run(sessionId, options, () =>
      this.#storage.truncateMessages(sessionId, upToMessageId, options),
    );
  }

  /** Takes the pool's lock and leaves out the session, like `truncateMessages`. */
  override restoreMessages(sessionId: string, call?: Call) {
    return this.#pool.turnLock.run(sessionId, call, () => this.#storage.restoreMessages(sessionId, call));
  }
}
