import type { Call } from "../../../domain/call.js";
import { DomainError, invalidArgument } from "../../../domain/errors.js";
import type { ForkOptions, StorageProvider } from "../../storage-provider.js";
import type { AttachmentNames } from "../attachments/attachment-names.js";
import type { Attachments } from "../attachments/attachments.js";
import { bytesOf } from "../byte-counts.js";
import type { Head, HistoryContext } from "../heads.js";
import type { Entry } from "../log-store.js";
import { readSegments } from "../read/lookup.js";
import { Again, isDefinite } from "../retries.js";
import { isSameList } from "../segments.js";
import type { Inserter } from "../write/inserter.js";
import type { SideLogs } from "../write/side-logs.js";
import { checkRevision, type Editor, hasRevision } from "./editor.js";
import { MissingMessages } from "./missing-messages.js";
import { messagesUpTo, type SourceMessages } from "./source-messages.js";

export interface Copied {
  readonly forkPointId: string | null;
  readonly copiedCount: number;
}

/** The parts that a copier uses. */
export interface CopierParts {
  readonly context: HistoryContext;
  readonly editor: Editor;
  readonly inserter: Inserter;
  readonly sideLogs: SideLogs;
  readonly attachments: Attachments;
  readonly names: AttachmentNames;
}

/** A copy, and the heads on which it was planned. */
interface Copy {
  readonly source: Head;
  readonly target: Head;
  readonly wanted: SourceMessages;
  readonly upToMessageId: string;
  readonly expectedRevision: number | undefined;
}

/** Copies messages from one session into another. */
export class Copier {
  readonly #parts: CopierParts;
  readonly #context: HistoryContext;

  constructor(parts: CopierParts) {
    this.#parts = parts;
    this.#context = parts.context;
  }

  /** Implements {@link StorageProvider.forkConversation}, `copy`. */
  async copy(
    sourceId: string,
    targetId: string,
    { upToMessageId = "", expectedRevision, ...call }: Omit<ForkOptions, "as">,
  ): Promise<Copied> {
    if (sourceId === targetId) {
      throw invalidArgument(`target_session_id is the session itself: ${JSON.stringify(targetId)}`);
    }
    return this.#context.retrying(targetId, call, async (saw) => {
      const source = await this.#context.need(sourceId, call);
      const target = await this.#parts.editor.settledHead(targetId, call);
      saw(source, target);
      const atMs = Math.min(source.atMs, target.atMs);
      try {
        checkRevision(target.record, expectedRevision);
        const wanted = await messagesUpTo(this.#context, source, upToMessageId, call);
        const outcome = await this.#copyWanted({ source, target, wanted, upToMessageId, expectedRevision }, call);
        if (outcome?.isSettled) return outcome.copied;
        if (outcome && !this.#context.isOld(atMs)) {
          await this.#parts.editor.reopen(target, call);
          return outcome.copied;
        }
      } catch (error) {
        const isForCaller = error instanceof DomainError && isDefinite(error);
        if (!isForCaller) throw error;
        if (!this.#context.isOld(atMs)) {
          await this.#context.checkCurrent(source.record, call);
          await this.#parts.editor.reopen(target, call);
          throw error;
        }
      }
      throw new Again();
    });
  }

  /** Null: somebody else has changed one of the sessions in a way that matters. */
  async #copyWanted(copy: Copy, call: Call | undefined): Promise<{ copied: Copied; isSettled: boolean } | null> {
    const { source, target, wanted } = copy;
    const none = { copied: { forkPointId: null, copiedCount: 0 }, isSettled: false };
    if (wanted.segments.length === 0) return none;
    const known = await readSegments(this.#context, wanted.segments, call);
    const ids = known.map(({ id }) => id);
    const missing = await MissingMessages.of(this.#context, target, ids, call);
    if (missing.ids.size === 0) {
      // Both sessions are as they were when they were read, so what they name was there all the time.
      const now = await this.#context.need(target.record.sessionId, call);
      const isSame = now.record.revision === target.record.revision && now.seq === target.seq;
      if (!isSame || !(await this.#context.isCurrent(source.record, call))) return null;
      await this.#parts.editor.reopen(target, call);
      return { ...none, isSettled: true };
    }
    const placed = await this.#parts.sideLogs.using(target.record, call, async (side) => {
      // Rule: erase-ends-copies. What is written is read again once its log has a name.
      const entries = await readSegments(this.#context, wanted.segments, call);
      const wantedEntries = entries.filter(({ id }) => missing.ids.has(id));
      const messages = await this.#parts.attachments.copyNamed(target, wantedEntries, call);
      await this.#context.quotas.checkBytes(target.record, bytesOf(messages), call);
      const copied = { forkPointId: (messages.at(-1) as Entry).id, copiedCount: messages.length };
      const answer = () => copied;
      const named = messages.flatMap(({ body }) => body.attachments);
      const answerOn = async (now: Head) => {
        const isSame = await this.#isSameCopy(copy, missing, now, call);
        return isSame && (await this.#parts.names.areThere(now, named, call)) ? answer : null;
      };
      return this.#parts.inserter.insertThrough(side, target, { messages, isAppend: false, answer, answerOn }, call);
    });
    return placed && { copied: placed.answer, isSettled: true };
  }

  /** Whether the same messages would be copied to a newer head of the target. */
  async #isSameCopy(copy: Copy, missing: MissingMessages, now: Head, call: Call | undefined): Promise<boolean> {
    const { source, wanted, upToMessageId, expectedRevision } = copy;
    if (!hasRevision(now.record, expectedRevision) || !(await missing.areSameOn(now, call))) return false;
    const sourceNow = await this.#context.need(source.record.sessionId, call);
    const wantedNow = await messagesUpTo(this.#context, sourceNow, upToMessageId, call);
    return sourceNow.record.uid === source.record.uid && isSameList(wantedNow.segments, wanted.segments);
  }
}
