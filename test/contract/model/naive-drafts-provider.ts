import type { Annotation, AnnotationChange, NewAnnotation } from "../../../src/domain/annotation.js";
import type { NewChatMessage } from "../../../src/domain/chat-message.js";
import type { Draft, DraftDelta } from "../../../src/domain/draft.js";
import { ERASED_PARTS, isErased, isSameMessage } from "../../../src/domain/erasure.js";
import { notFound } from "../../../src/domain/errors.js";
import { withoutTexts } from "../../../src/domain/usage-text.js";
import {
  type FinishDraftOptions,
  type StartDraftOptions,
  StorageProvider,
} from "../../../src/storage/storage-provider.js";
import {
  createAnnotation,
  deleteAnnotation,
  eraseAnnotations,
  listAnnotations,
  updateAnnotation,
} from "./naive-annotations.js";
import { filled, noteNamed } from "./naive-attachments.js";
import {
  abandonDraft,
  discardDraft,
  extendDraft,
  findDraft,
  finishDraft,
  openDrafts,
  shownDraft,
  startDraft,
  versionOf,
} from "./naive-drafts.js";
import type { NaiveMessage, NaiveSession } from "./naive-session.js";

/** The part of the naive model that knows drafts, annotations and erasing. */
export abstract class NaiveDraftsProvider extends StorageProvider {
  /** Returns the session. not_found: no such session. */
  protected abstract find(sessionId: string): NaiveSession;
  protected abstract get all(): readonly NaiveSession[];
  /** All sessions, and those that can be brought back. */
  protected abstract get kept(): readonly NaiveSession[];
  protected abstract get nowMicros(): number;
  /** The owner that the caller is bound to; undefined for one that sees all sessions. */
  caller: string | undefined;

  override async startDraft(sessionId: string, message: NewChatMessage, options: StartDraftOptions = {}) {
    const session = this.find(sessionId);
    const given = { ...message, id: message.id ?? "" };
    const started = startDraft(session, given, options, this.nowMicros, (parts) => filled(session, parts));
    noteNamed(session, findDraft(session, given.id)?.message.parts ?? []);
    return started;
  }

  override async extendDraft(
    sessionId: string,
    messageId: string,
    version: number,
    deltas: readonly DraftDelta[],
  ): Promise<number> {
    return extendDraft(this.find(sessionId), messageId, version, deltas, this.nowMicros);
  }

  override async finishDraft(sessionId: string, messageId: string, options: FinishDraftOptions) {
    return finishDraft(this.find(sessionId), messageId, options, this.nowMicros);
  }

  override async discardDraft(sessionId: string, messageId: string): Promise<void> {
    discardDraft(this.find(sessionId), messageId);
  }

  override async listDrafts(sessionId: string): Promise<readonly Draft[]> {
    return openDrafts(this.find(sessionId)).map((draft) => shownDraft(draft, sessionId));
  }

  override async createAnnotation(sessionId: string, annotation: NewAnnotation): Promise<Annotation> {
    return createAnnotation(this.find(sessionId), { ...annotation, author: this.caller }, this.nowMicros);
  }

  override async updateAnnotation(sessionId: string, annotationId: string, change: AnnotationChange) {
    return updateAnnotation(this.find(sessionId), annotationId, change, this.caller, this.nowMicros);
  }

  override async deleteAnnotation(sessionId: string, annotationId: string): Promise<void> {
    deleteAnnotation(this.find(sessionId), annotationId);
  }

  override async listAnnotations(sessionId: string, options: Parameters<StorageProvider["listAnnotations"]>[1]) {
    return listAnnotations(this.find(sessionId), options);
  }

  /** Ends all open drafts. `spareIdOf` returns the id for the message of a draft whose own id is taken. */
  abandonAll(spareIdOf: (sessionId: string, messageId: string) => string): number {
    let count = 0;
    for (const session of this.all) {
      for (const draft of openDrafts(session)) {
        abandonDraft(session, draft, spareIdOf(session.sessionId, draft.message.id), this.nowMicros);
        count++;
      }
    }
    return count;
  }

  /** Returns undefined when there is no such draft. */
  draftVersion(sessionId: string, messageId: string): number | undefined {
    const session = this.all.find((one) => one.sessionId === sessionId);
    const draft = session && findDraft(session, messageId);
    return draft && versionOf(draft);
  }

  /** Clears away a draft that has ended, as a sweep does. Returns false when there is none. */
  forgetEnded(sessionId: string, messageId: string): boolean {
    const session = this.all.find((one) => one.sessionId === sessionId);
    const draft = session && findDraft(session, messageId);
    if (!session || !draft?.verdict) return false;
    session.drafts = session.drafts.filter((one) => one !== draft);
    return true;
  }

  /** Whether the real session has revision 1 exactly when the naive session has. */
  isRevisionKnown(sessionId: string): boolean {
    return this.all.find((one) => one.sessionId === sessionId)?.isRevisionKnown ?? true;
  }

  shows(sessionId: string, messageId: string): boolean {
    const session = this.all.find((one) => one.sessionId === sessionId);
    return session?.messages.some(({ id }) => id === messageId) ?? false;
  }

  /** Whether the deltas of an ended draft were erased. If they were, no retry of them is recognised. */
  isDraftErased(sessionId: string, messageId: string): boolean {
    const session = this.all.find((one) => one.sessionId === sessionId);
    return (session && findDraft(session, messageId)?.isErased) ?? false;
  }

  override async eraseMessage(sessionId: string, messageId: string): Promise<{ copies: number }> {
    const message = this.find(sessionId).messages.find(({ id }) => id === messageId);
    if (!message) throw notFound("Message", messageId);
    for (const session of this.kept) {
      const isMeant = (one: NaiveMessage) => isSameMessage(one, message);
      const shown = session.messages.find(isMeant);
      const erased = (one: NaiveMessage) =>
        isMeant(one)
          ? { ...one, parts: ERASED_PARTS, metadata: undefined, usage: one.usage && withoutTexts(one.usage) }
          : one;
      if (shown) session.revision += 1;
      // A repeated erasure need not change sessions in which the message is erased already.
      if (shown && isErased(shown)) session.isRevisionKnown = false;
      session.messages = session.messages.map(erased);
      session.ancestors = session.ancestors.map(erased);
      session.undo = session.undo?.map(erased) ?? null;
      eraseAnnotations(session, message);
      if (session.sessionId !== message.originSessionId) continue;
      for (const draft of session.drafts) {
        if (draft.verdict && (draft.message.id === messageId || draft.spareId === messageId)) draft.isErased = true;
      }
    }
    return { copies: 0 };
  }
}
