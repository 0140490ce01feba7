import { type Call, checkCall } from "../domain/call.js";
import type { NewChatMessage } from "../domain/chat-message.js";
import type { Draft, DraftDelta, DraftVersion } from "../domain/draft.js";
import { DomainError, NotImplementedError } from "../domain/errors.js";
import { checkId } from "../domain/validate.js";
import { checkDeltas, checkNewMessages } from "../domain/validate-message.js";
import { checkExpected, checkVersion } from "../domain/validate-session.js";
import { checkMetadata } from "../domain/validate-struct.js";
import type { StorageManager } from "../storage/storage-manager.js";
import type { FinishDraftOptions, LogResult } from "../storage/storage-provider.js";
import type { PoolContext } from "./pool-context.js";
import type { StartOptions } from "./session-pool-types.js";
import type { TurnLock } from "./turn-lock.js";

/**
 * Messages that are being written, while a model streams them for example. Drafts are no part of the history until they are finished.
 *
 * What begins or ends a draft takes the session's turn; extending one takes none. Everything rejects with DomainError, as SessionPool does;
 * a provider without drafts is `unimplemented`.
 */
export class DraftPool {
  readonly #root: PoolContext;
  readonly #turnLock: TurnLock;

  constructor(root: PoolContext, turnLock: TurnLock) {
    this.#root = root;
    this.#turnLock = turnLock;
  }

  /**
   * Begins a draft; resolves to its id, which is reserved from then on, and its version. A retry with the same content answers the same. `already_exists`: the
   * history has the id, or a draft with other content. `failed_precondition`: a draft with the id has ended lately. `resource_exhausted`: the session has 16
   * open drafts.
   */
  async start(sessionId: string, message: NewChatMessage, options: StartOptions = {}): Promise<DraftVersion> {
    const storage = this.#storageFor(sessionId, options);
    checkNewMessages([message], this.#root.limits);
    return await this.#turnLock.run(sessionId, options, async () => {
      try {
        return await storage.startDraft(sessionId, message, options);
      } catch (error) {
        if (!options.createSession || !(error instanceof DomainError) || error.code !== "not_found") throw error;
        // A session that somebody else made meanwhile is answered like one that this call made: it sets nothing to compare.
        await storage.createSession({ sessionId }, options);
        return await storage.startDraft(sessionId, message, options);
      }
    });
  }

  /**
   * Adds deltas after `version`; resolves to the new version. A retry with the same content answers the same. `aborted`: another version is the current
   * one; the text names it. `failed_precondition`: the draft was finished or discarded. `not_found`: there is none.
   */
  async extend(
    sessionId: string,
    messageId: string,
    version: number,
    deltas: readonly DraftDelta[],
    call?: Call,
  ): Promise<number> {
    const storage = this.#storageFor(sessionId, call);
    this.#checkDraft(messageId, version, deltas, 1);
    return await storage.extendDraft(sessionId, messageId, version, deltas, call);
  }

  /**
   * Ends a draft: what it holds is appended to the history under its id, exactly once. A retry with the same content answers the message's place now. Errors are as
   * with `extend`; `aborted` also means that the message would not get `expectedPosition`.
   */
  async finish(sessionId: string, messageId: string, options: FinishDraftOptions): Promise<LogResult> {
    const storage = this.#storageFor(sessionId, options);
    this.#checkDraft(messageId, options.version, options.deltas ?? [], 0);
    checkMetadata("metadata", options.metadata, this.#root.limits);
    checkExpected("expected_position", options.expectedPosition);
    return await this.#turnLock.run(sessionId, options, () => storage.finishDraft(sessionId, messageId, options));
  }

  /** Ends a draft and drops what it holds. One that is not there is answered alike. `failed_precondition`: it was finished. */
  async discard(sessionId: string, messageId: string, call?: Call): Promise<void> {
    const storage = this.#storageFor(sessionId, call);
    checkId("message_id", messageId, this.#root.limits);
    await this.#turnLock.run(sessionId, call, () => storage.discardDraft(sessionId, messageId, call));
  }

  /** The open drafts as they are now, in the order in which they were started. */
  async list(sessionId: string, call?: Call): Promise<readonly Draft[]> {
    return await this.#storageFor(sessionId, call).listDrafts(sessionId, call);
  }

  #checkDraft(messageId: string, version: number, deltas: readonly DraftDelta[], least: number): void {
    checkId("message_id", messageId, this.#root.limits);
    checkVersion(version);
    checkDeltas(deltas, least, this.#root.limits);
  }

  #storageFor(sessionId: string, call: Call | undefined): StorageManager {
    checkCall(call);
    checkId("session_id", sessionId, this.#root.limits);
    const { storage } = this.#root;
    if (storage === undefined) throw new NotImplementedError("SessionPool", "drafts without a storage manager");
    return storage;
  }
}
