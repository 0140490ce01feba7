import {
  type Annotation,
  type AnnotationChange,
  type AnnotationCursor,
  type AnnotationPage,
  checkAnnotationChange,
  checkNewAnnotation,
  type NewAnnotation,
} from "../domain/annotation.js";
import { type Call, checkCall } from "../domain/call.js";
import { NotImplementedError } from "../domain/errors.js";
import { checkId, checkOptionalId } from "../domain/validate.js";
import { pageLimit } from "../domain/validate-page.js";
import type { StorageManager } from "../storage/storage-manager.js";
import type { PoolContext } from "./pool-context.js";
import type { TurnLock } from "./turn-lock.js";

/** Which annotations of a session to list: all, or those of one message. */
export interface ListAnnotationsOptions extends Call {
  readonly messageId?: string | undefined;
  /** 100 when absent. */
  readonly limit?: number | undefined;
  readonly cursor?: AnnotationCursor | undefined;
}

/**
 * Notes and feedback on messages, kept apart from the history. Everything rejects with DomainError as SessionPool does;
 * `unimplemented` with a provider that keeps no annotations.
 */
export class AnnotationPool {
  readonly #root: PoolContext;
  readonly #turnLock: TurnLock;

  constructor(root: PoolContext, turnLock: TurnLock) {
    this.#root = root;
    this.#turnLock = turnLock;
  }

  /**
   * Adds an annotation to a message. A retry with the same id and content gets the same answer. `not_found`: no such
   * message. `already_exists`: the session has another annotation with this id. `resource_exhausted`: the session has
   * 1,000, or the message 16. `permission_denied`: the caller is bound to an owner, and names another author.
   */
  async create(sessionId: string, annotation: NewAnnotation, call?: Call): Promise<Annotation> {
    const storage = this.#storageFor(sessionId, call);
    checkNewAnnotation(annotation, this.#root.limits);
    return await this.#turnLock.run(sessionId, call, () => storage.createAnnotation(sessionId, annotation, call));
  }

  /** The annotations of the messages that the session shows, the oldest first. */
  async list(sessionId: string, options: ListAnnotationsOptions = {}): Promise<AnnotationPage> {
    const storage = this.#storageFor(sessionId, options);
    const { messageId = "", limit, cursor, ...call } = options;
    checkOptionalId("message_id", messageId, this.#root.limits);
    const page = { messageId, limit: pageLimit(limit, this.#root.limits), cursor };
    return await storage.listAnnotations(sessionId, page, call);
  }

  /** Changes the fields of an annotation that are given. `not_found`: no such annotation. */
  async update(sessionId: string, annotationId: string, change: AnnotationChange, call?: Call): Promise<Annotation> {
    const storage = this.#storageFor(sessionId, call);
    checkId("annotation_id", annotationId, this.#root.limits);
    checkAnnotationChange(change);
    const update = () => storage.updateAnnotation(sessionId, annotationId, change, call);
    return await this.#turnLock.run(sessionId, call, update);
  }

  /** Removes an annotation. `not_found`: there is none, so a repeated call has this answer. */
  async delete(sessionId: string, annotationId: string, call?: Call): Promise<void> {
    const storage = this.#storageFor(sessionId, call);
    checkId("annotation_id", annotationId, this.#root.limits);
    await this.#turnLock.run(sessionId, call, () => storage.deleteAnnotation(sessionId, annotationId, call));
  }

  #storageFor(sessionId: string, call: Call | undefined): StorageManager {
    checkCall(call);
    checkId("session_id", sessionId, this.#root.limits);
    const { storage } = this.#root;
    if (storage === undefined) throw new NotImplementedError("RootPool", "annotations without a storage manager");
    return storage;
  }
}
