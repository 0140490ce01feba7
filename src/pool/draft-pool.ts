import { refusalInNewSession } from "../domain/attachment.js";
import { type Call, checkCall } from "../domain/call.js";
import type { NewChatMessage } from "../domain/chat-message.js";
import type { Draft, DraftDelta, DraftVersion } from "../domain/draft.js";
import { DomainError, NotImplementedError } from "../domain/errors.js";
import { checkExpected, checkId, checkVersion } from "../domain/validate.js";
import { checkDeltas, checkNewMessages } from "../domain/validate-message.js";
import { checkMetadata } from "../domain/validate-struct.js";
import { checkUsage } from "../domain/validate-usage.js";
import type { StorageManager } from "../storage/storage-manager.js";
import type { FinishDraftOptions, LogResult } from "../storage/storage-provider.js";
import type { PoolContext } from "./pool-context.js";
import type { StartOptions } from "./session-pool-types.js";
import type { TurnLock } from "./turn-lock.js";

/**
 * Messages that are still being written, for example while a model streams them. A draft is not part of the history
 * until it is finished. Starting, finishing and discarding take the session's turn; extending does not. Everything
 * rejects with DomainError as SessionPool does; `unimplemented` with a provider that has no drafts.
 */
export class DraftPool {
  readonly #root: PoolContext;
  readonly #turnLock: TurnLock;

  constructor(root: PoolContext, turnLock: TurnLock) {
    this.#root = root;
    this.#turnLock = turnLock;
  }

  /**
   * Starts a draft; resolves to its version and its id, which is reserved from then on. A retry with the same content
   * gets the same answer. `already_exists`: the history has the id, or a draft has it with other content.
   * `failed_precondition`: a draft with the id ended recently. `resource_exhausted`: the session has 16 open drafts.
   */
  async start(sessionId: string, message: NewChatMessage, options: StartOptions = {}): Promise<DraftVersion> {
    const storage = this.#storageFor(sessionId, options);
    checkNewMessages([message], this.#root.limits);
    return await this.#turnLock.run(sessionId, options, async () => {
      try {
        return await storage.startDraft(sessionId, message, options);
      } catch (error) {
        if (!options.createSession || !(error instanceof DomainError) || error.code !== "not_found") throw error;
        const refusal = refusalInNewSession([message], sessionId);
        if (refusal) throw refusal;
        // A session that somebody else made meanwhile is as good as one made by this call, which sets nothing that
        // could differ.
        await storage.createSession({ sessionId }, options);
        return await storage.startDraft(sessionId, message, options);
      }
    });
  }

  /**
   * Adds deltas after `version`; resolves to the new version. Without deltas, it renews the draft, which then is not
   * abandoned. A retry with the same content gets the same answer.
   * `aborted`: another version is current; the text names it. `failed_precondition`: the draft was finished or
   * discarded. `not_found`: no such draft.
   */
  async extend(
    sessionId: string,
    messageId: string,
    version: number,
    deltas: readonly DraftDelta[],
    call?: Call,
  ): Promise<number> {
    const storage = this.#storageFor(sessionId, call);
    this.#checkDraft(messageId, version, deltas);
    return await storage.extendDraft(sessionId, messageId, version, deltas, call);
  }

  /**
   * Finishes a draft: its content is appended to the history under its id, exactly once. A retry with the same content
   * is answered with the message's current place. Errors as with `extend`; `aborted` also when the message would not
   * get `expectedPosition`.
   */
  async finish(sessionId: string, messageId: string, options: FinishDraftOptions): Promise<LogResult> {
    const storage = this.#storageFor(sessionId, options);
    this.#checkDraft(messageId, options.version, options.deltas ?? []);
    checkMetadata("metadata", options.metadata, this.#root.limits);
    checkUsage("usage", options.usage);
    checkExpected("expected_position", options.expectedPosition);
    return await this.#turnLock.run(sessionId, options, () => storage.finishDraft(sessionId, messageId, options));
  }

  /**
   * Discards a draft and its content. A draft that does not exist gets the same answer. `failed_precondition`: it was
   * finished.
   */
  async discard(sessionId: string, messageId: string, call?: Call): Promise<void> {
    const storage = this.#storageFor(sessionId, call);
    checkId("message_id", messageId, this.#root.limits);
    await this.#turnLock.run(sessionId, call, () => storage.discardDraft(sessionId, messageId, call));
  }

  /** The open drafts in their current state, in the order in which they were started. */
  async list(sessionId: string, call?: Call): Promise<readonly Draft[]> {
    return await this.#storageFor(sessionId, call).listDrafts(sessionId, call);
  }

  #checkDraft(messageId: string, version: number, deltas: readonly DraftDelta[]): void {
    checkId("message_id", messageId, this.#root.limits);
    checkVersion(version);
    checkDeltas(deltas, this.#root.limits);
  }

  #storageFor(sessionId: string, call: Call | undefined): StorageManager {
    checkCall(call);
    checkId("session_id", sessionId, this.#root.limits);
    const { storage } = this.#root;
    if (storage === undefined) throw new NotImplementedError("SessionPool", "drafts without a storage manager");
    return storage;
  }
}
