import {
  type Attachment,
  type AttachmentContent,
  type AttachmentCursor,
  type AttachmentPage,
  type AttachmentRange,
  checkNewAttachment,
  type NewAttachment,
} from "../domain/attachment.js";
import { type Call, checkCall } from "../domain/call.js";
import { DomainError, invalidArgument, NotImplementedError } from "../domain/errors.js";
import { checkId } from "../domain/validate.js";
import { pageLimit } from "../domain/validate-page.js";
import type { StorageManager } from "../storage/storage-manager.js";
import type { PoolContext } from "./pool-context.js";

export interface UploadOptions extends Call {
  /** Makes the session first if it is missing. It stays, empty, if the upload is then refused. */
  readonly createSession?: boolean | undefined;
}

/** Bytes as a caller has them: all at once, or in chunks. */
export type Bytes = Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/**
 * Bytes that are stored beside the messages, and that parts of messages name. Everything rejects with DomainError as
 * SessionPool does; `unimplemented` with a provider that keeps no attachments.
 */
export class AttachmentPool {
  readonly #root: PoolContext;

  constructor(root: PoolContext) {
    this.#root = root;
  }

  /**
   * Stores an attachment, whole or not at all. A retry with the same id, bytes, name and media type gets the same
   * answer. `already_exists`: the session has, or shows, another attachment with this id. `invalid_argument`: more than
   * 64 MiB, or others than `size` or `sha256` say. `resource_exhausted`: the uploads of the session would exceed 1 GiB,
   * or 16 are under way.
   */
  async upload(
    sessionId: string,
    attachment: NewAttachment,
    bytes: Bytes,
    options: UploadOptions = {},
  ): Promise<Attachment> {
    const storage = this.#storageFor(sessionId, options);
    checkNewAttachment(attachment, this.#root.limits);
    if (options.createSession) await this.#makeSession(storage, sessionId, options);
    return await storage.uploadAttachment(sessionId, attachment, chunksOf(bytes), options);
  }

  /**
   * An attachment and its bytes. `not_found`: no message or draft of the session shows it, and it is not an upload of
   * its own that nothing has named yet. `out_of_range`: `offset` is not before the end.
   */
  async get(sessionId: string, attachmentId: string, options: AttachmentRange & Call = {}): Promise<AttachmentContent> {
    const storage = this.#storageFor(sessionId, options);
    checkId("attachment_id", attachmentId, this.#root.limits);
    const { offset, length, ...call } = options;
    checkCount("offset", offset);
    checkCount("length", length);
    return await storage.getAttachment(sessionId, attachmentId, { offset, length }, call);
  }

  /** The attachments that messages and drafts of a session show, by id: 100 unless `limit` says otherwise. */
  async list(
    sessionId: string,
    options: { readonly limit?: number | undefined; readonly cursor?: AttachmentCursor | undefined } & Call = {},
  ): Promise<AttachmentPage> {
    const storage = this.#storageFor(sessionId, options);
    const { limit, cursor, ...call } = options;
    return await storage.listAttachments(sessionId, { limit: pageLimit(limit, this.#root.limits), cursor }, call);
  }

  /**
   * Removes an attachment that no stored message or draft names. `failed_precondition`: something names it.
   * `not_found`: there is none, so a repeated call has this answer.
   */
  async delete(sessionId: string, attachmentId: string, call?: Call): Promise<void> {
    const storage = this.#storageFor(sessionId, call);
    checkId("attachment_id", attachmentId, this.#root.limits);
    await storage.deleteAttachment(sessionId, attachmentId, call);
  }

  async #makeSession(storage: StorageManager, sessionId: string, call: Call): Promise<void> {
    try {
      await storage.getMessageCount(sessionId, call);
    } catch (error) {
      if (!(error instanceof DomainError) || error.code !== "not_found") throw error;
      await storage.createSession({ sessionId }, call);
    }
  }

  #storageFor(sessionId: string, call: Call | undefined): StorageManager {
    checkCall(call);
    checkId("session_id", sessionId, this.#root.limits);
    const { storage } = this.#root;
    if (storage === undefined) throw new NotImplementedError("RootPool", "attachments without a storage manager");
    return storage;
  }
}

function checkCount(field: string, value: number | undefined): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= 0)) return;
  throw invalidArgument(`${field} is ${value}; it must be a whole number of at least 0`);
}

async function* chunksOf(bytes: Bytes): AsyncGenerator<Uint8Array> {
  if (bytes instanceof Uint8Array) yield bytes;
  else yield* bytes;
}
