import type { Call } from "../../../domain/call.js";
import { untilCallEnd } from "../../../domain/call-end.js";
import { DomainError, invalidArgument } from "../../../domain/errors.js";
import type { ForkOptions } from "../../storage-provider.js";
import { type Head, type HistoryContext, visibleSegments } from "../heads.js";
import type { Entry } from "../log-store.js";
import { locate, readSegments } from "../read/lookup.js";
import { openDrafts } from "../record-facts.js";
import { Again } from "../retries.js";
import { totalLength } from "../segments.js";
import type { Placer } from "../write/placer.js";
import type { RecordWriter } from "../write/record-writer.js";
import type { Attempt, SideLogs } from "../write/side-logs.js";
import { checkRevision, type Editor, isDefinite } from "./editor.js";
import { ForkCounts } from "./fork-counts.js";
import { type Taken, takeFrom } from "./taken.js";

export interface Copied {
  readonly forkPointId: string | null;
  readonly copiedCount: number;
}

/** The parts that a copier uses. */
export interface CopierParts {
  readonly context: HistoryContext;
  readonly writer: RecordWriter;
  readonly editor: Editor;
  readonly placer: Placer;
  readonly sideLogs: SideLogs;
}

/** Copies messages from one session into another. */
export class Copier {
  readonly #parts: CopierParts;
  readonly #context: HistoryContext;
  readonly #counts: ForkCounts;

  constructor(parts: CopierParts) {
    this.#parts = parts;
    this.#context = parts.context;
    this.#counts = new ForkCounts(parts.context);
  }

  /** See StorageProvider.forkConversation, `copy`. */
  async copy(
    sourceId: string,
    targetId: string,
    { upToMessageId = "", expectedRevision, ...call }: Omit<ForkOptions, "as">,
  ): Promise<Copied> {
    if (sourceId === targetId) {
      throw invalidArgument(`target_session_id is the session itself: ${JSON.stringify(targetId)}`);
    }
    let attempt: Attempt | null = null;
    return this.#context.retrying(targetId, call, async (saw) => {
      const source = await this.#context.need(sourceId, call);
      const target = await this.#parts.editor.settledHead(targetId, call);
      saw(source, target);
      const atMs = Math.min(source.atMs, target.atMs);
      try {
        checkRevision(target.record, expectedRevision);
        const taken = await takeFrom(this.#context, source, upToMessageId, call);
        const outcome = await this.#copyTaken(source, target, taken, attempt, call);
        if ("copied" in outcome) {
          if (outcome.isSettled) return outcome.copied;
          if (!this.#context.isOld(atMs)) {
            await this.#parts.editor.reopen(target, call);
            return outcome.copied;
          }
        } else {
          attempt = outcome.lost;
        }
      } catch (error) {
        const isRefusal = error instanceof DomainError && isDefinite(error);
        if (!isRefusal) throw error;
        if (!this.#context.isOld(atMs)) {
          await this.#context.checkCurrent(source.record, call);
          throw error;
        }
      }
      throw new Again();
    });
  }

  async #copyTaken(
    source: Head,
    target: Head,
    taken: Taken,
    attempt: Attempt | null,
    call: Call | undefined,
  ): Promise<{ copied: Copied; isSettled: boolean } | { lost: Attempt | null }> {
    const none = { copied: { forkPointId: null, copiedCount: 0 }, isSettled: false };
    if (taken.segments.length === 0) return none;
    const open = openDrafts(target.record).map(({ messageId }) => messageId);
    // Rule: share-copy-unforked-only. Nobody counts on an unforked session, so no circle of sources can arise.
    if (target.count === 0 && target.record.forks === 0 && open.length === 0) {
      const isShared = await this.#shareInto(source, target, taken, call);
      if (!isShared) return { lost: null };
      return { copied: { forkPointId: taken.lastId, copiedCount: totalLength(taken.segments) }, isSettled: true };
    }
    const ids = (await readSegments(this.#context, taken.segments, call)).map(({ id }) => id);
    const known = await locate(this.#context, visibleSegments(target), ids, call);
    const freshIds = new Set(ids.filter((id) => !known.has(id) && !open.includes(id)));
    if (freshIds.size === 0) {
      const now = await this.#context.need(target.record.sessionId, call);
      return now.record.revision === target.record.revision && now.seq === target.seq ? none : { lost: null };
    }
    // Rule: erase-ends-copies. What is written is read again once its log has a name.
    const begun = await this.#parts.sideLogs.beforeCopy(target, attempt, call);
    if (!begun) return { lost: attempt };
    const entries = await readSegments(this.#context, taken.segments, call);
    const fresh = entries.filter(({ id }) => freshIds.has(id));
    const copied = { forkPointId: (fresh.at(-1) as Entry).id, copiedCount: fresh.length };
    const placed = await this.#parts.placer.place(begun.head, fresh, begun.attempt, false, () => copied, call);
    return "answer" in placed ? { copied: placed.answer, isSettled: true } : placed;
  }

  /**
   * When the call's deadline passes, the caller gets an error at once, but the work continues, because a raised count
   * may have to be lowered.
   */
  async #shareInto(source: Head, target: Head, taken: Taken, call?: Call): Promise<boolean> {
    return untilCallEnd(this.#share(source, target, taken), call);
  }

  async #share(source: Head, target: Head, taken: Taken): Promise<boolean> {
    const { uid } = source.record;
    if (!(await this.#counts.raise(source))) return false;
    const { sources } = target.record;
    const isNamed = sources.includes(uid);
    const change = {
      segments: taken.segments,
      lastTimestampMicros: taken.lastTimestampMicros,
      undo: null,
      kept: 0,
      sources: isNamed ? sources : [...sources, uid],
    };
    let committed: Head | null = null;
    try {
      committed = await this.#parts.writer.commit(target, change);
    } catch (error) {
      // A record counts once as a fork of each source that it names. If it named this source before, the source was
      // raised once too often, whether or not the record was replaced.
      if (isNamed) await this.#counts.lower(uid);
      throw error;
    }
    if (!committed || isNamed) await this.#counts.lower(uid);
    return committed !== null;
  }
}
