import { type Call, checkCall } from "../../../domain/call.js";
import { untilCallEnd } from "../../../domain/call-end.js";
import { DomainError, invalidArgument, notFound } from "../../../domain/errors.js";
import { sameStruct } from "../../../domain/json.js";
import { inOrder } from "../../../domain/labels.js";
import type { NewSession } from "../../../domain/session.js";
import type { ForkOptions } from "../../storage-provider.js";
import type { Placer } from "../append/placer.js";
import type { Attempt } from "../append/side-logs.js";
import { type Head, type HistoryContext, visibleSegments } from "../heads.js";
import type { Entry, NextRecord, Origin, Segment, SessionRecord } from "../log-store.js";
import { entryAt, locate, locateOnHead, readSegments } from "../read/lookup.js";
import { openDrafts } from "../record-facts.js";
import { Again } from "../retries.js";
import { sliceSegments, totalLength } from "../segments.js";
import { checkRevision, type Editor, isDefinite, noMessage } from "./editor.js";
import { ForkCounts } from "./fork-counts.js";
import { ancestryUnder, newRecord } from "./new-record.js";
import type { RecordWriter } from "./record-writer.js";

export interface Copied {
  readonly forkPointId: string | null;
  readonly copiedCount: number;
}

/** What a fork or copy takes from its source. */
interface Taken {
  readonly segments: readonly Segment[];
  readonly lastId: string | null;
  readonly lastTimestampMicros: number | null;
}

/** An attempt to make a session from another. */
interface Branch {
  readonly sourceId: string;
  readonly sessionId: string;
  readonly isRetry: (existing: Head, source: SessionRecord | null) => boolean;
  readonly call: Call | undefined;
  readonly plan: (source: Head) => Promise<NextRecord>;
  readonly saw: (source: Head) => void;
}

/** Makes sessions, empty or from others, and copies between them. */
export class Brancher {
  readonly #context: HistoryContext;
  readonly #writer: RecordWriter;
  readonly #editor: Editor;
  readonly #placer: Placer;
  readonly #counts: ForkCounts;

  constructor(context: HistoryContext, writer: RecordWriter, editor: Editor, placer: Placer) {
    this.#context = context;
    this.#writer = writer;
    this.#editor = editor;
    this.#placer = placer;
    this.#counts = new ForkCounts(context);
  }

  /** See StorageProvider.createSession. */
  async create(session: NewSession & { readonly sessionId: string }, call?: Call): Promise<Head> {
    const { sessionId, parentId = "", title = "", metadata, labels, expireTimeMicros } = session;
    const fields = { sessionId, parentId, title, metadata, labels: inOrder(labels), expireTimeMicros };
    // Only what the caller set is compared, with the session as it is now (docs/api.md, Same content).
    const isRetry = ({ record }: Head) =>
      (parentId === "" || record.parentId === parentId) &&
      (title === "" || record.title === title) &&
      (sameStruct(metadata, {}) || sameStruct(record.metadata, metadata)) &&
      (sameStruct(labels, {}) || sameStruct(record.labels, labels)) &&
      (expireTimeMicros === undefined || record.expireTimeMicros === expireTimeMicros);
    if (parentId === "") return this.#born(newRecord(this.#context, fields), isRetry, call);
    return this.#fromSource(parentId, sessionId, isRetry, call, async (parent) => {
      const ancestry = await ancestryUnder(this.#context, this.#placer, parent, call);
      return newRecord(this.#context, { ...fields, ancestry, sources: [parent.record.uid] });
    });
  }

  /** See StorageProvider.forkConversation, `fork` and `share`. */
  async fork(
    sourceId: string,
    sessionId: string,
    kind: Origin["kind"],
    { upToMessageId = "", title }: Pick<ForkOptions, "upToMessageId" | "title">,
    call?: Call,
  ): Promise<Head> {
    const isRetry = ({ record: { origin } }: Head, source: SessionRecord | null) =>
      origin?.kind === kind &&
      origin.sourceSessionId === sourceId &&
      origin.upToMessageId === upToMessageId &&
      (source === null || source.uid === origin.sourceUid);
    return this.#fromSource(sourceId, sessionId, isRetry, call, async (source) => {
      const taken = await this.#take(source, upToMessageId, call);
      return newRecord(this.#context, {
        sessionId,
        parentId: sourceId,
        title: title || source.record.title,
        metadata: source.record.metadata,
        labels: source.record.labels,
        forkPointId: taken.lastId ?? "",
        inheritedCount: totalLength(taken.segments),
        segments: taken.segments,
        lastTimestampMicros: taken.lastTimestampMicros ?? 0,
        ancestry: source.record.ancestry,
        sources: [source.record.uid],
        origin: { kind, sourceSessionId: sourceId, sourceUid: source.record.uid, upToMessageId },
      });
    });
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
      const target = await this.#editor.settledHead(targetId, call);
      saw(source, target);
      const atMs = Math.min(source.atMs, target.atMs);
      try {
        checkRevision(target.record, expectedRevision);
        const taken = await this.#take(source, upToMessageId, call);
        const outcome = await this.#copyTaken(source, target, taken, attempt, call);
        if ("copied" in outcome) {
          if (outcome.isSettled) return outcome.copied;
          if (!this.#context.isOld(atMs)) {
            await this.#editor.reopen(target, call);
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
    // Rule: share-copy-unforked-only. Nobody counts on an unforked session, so that no circle of sources can arise.
    if (target.count === 0 && target.record.forks === 0 && open.length === 0) {
      const isShared = await this.#shareInto(source, target, taken, call);
      if (!isShared) return { lost: null };
      return { copied: { forkPointId: taken.lastId, copiedCount: totalLength(taken.segments) }, isSettled: true };
    }
    const entries = await readSegments(this.#context, taken.segments, call);
    const ids = entries.map(({ id }) => id);
    const known = await locate(this.#context, visibleSegments(target), ids, call);
    const fresh = entries.filter(({ id }) => !known.has(id) && !open.includes(id));
    if (fresh.length === 0) {
      const now = await this.#context.need(target.record.sessionId, call);
      return now.record.revision === target.record.revision && now.seq === target.seq ? none : { lost: null };
    }
    const copied = { forkPointId: (fresh.at(-1) as Entry).id, copiedCount: fresh.length };
    const placed = await this.#placer.place(target, fresh, attempt, false, () => copied, call);
    return "answer" in placed ? { copied: placed.answer, isSettled: true } : placed;
  }

  /** When the call ends, the caller is answered at once, but the work goes on: a count that was raised may have to be lowered. */
  async #shareInto(source: Head, target: Head, taken: Taken, call?: Call): Promise<boolean> {
    return untilCallEnd(this.#share(source, target, taken), call);
  }

  async #share(source: Head, target: Head, taken: Taken): Promise<boolean> {
    const { uid } = source.record;
    if (uid === target.record.uid) return false;
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
      committed = await this.#writer.commit(target, change);
    } catch (error) {
      // Whether or not the record was replaced, it counts once. A source that it named before was raised once too often.
      if (isNamed) await this.#counts.lower(uid);
      throw error;
    }
    if (!committed || isNamed) await this.#counts.lower(uid);
    return committed !== null;
  }

  /**
   * Makes a session that names its source's logs: the source's `forks` goes up in the step that reads it, and down again when no such
   * session comes of it. The call's end is answered at once; what was raised is lowered all the same.
   */
  async #fromSource(
    sourceId: string,
    sessionId: string,
    isRetry: (existing: Head, source: SessionRecord | null) => boolean,
    call: Call | undefined,
    plan: (source: Head) => Promise<NextRecord>,
  ): Promise<Head> {
    return this.#context.retrying(sourceId, call, async (saw) => {
      checkCall(call);
      return untilCallEnd(this.#branch({ sourceId, sessionId, isRetry, call, plan, saw }), call);
    });
  }

  async #branch({ sourceId, sessionId, isRetry, call, plan, saw }: Branch): Promise<Head> {
    // Rule: raise-before-child. Rule: raise-at-revision. The step that reads the source raises it.
    const source = await this.#counts.loadRaised(sourceId);
    if (!source) return this.#orExisting(sessionId, isRetry, null, notFound("Session", sourceId), call);
    saw(source);
    const { uid } = source.record;
    let record: NextRecord;
    try {
      record = await plan(source);
      checkCall(call);
    } catch (error) {
      await this.#counts.lower(uid);
      if (!(error instanceof DomainError) || !isDefinite(error)) throw error;
      await this.#context.checkCurrent(source.record, call);
      return this.#orExisting(sessionId, isRetry, source.record, error, call);
    }
    const namesSource = record.segments.length > 0 || record.ancestry.length > 0;
    const full = namesSource ? record : { ...record, sources: [] };
    const atMs = this.#context.knownMs();
    const made = await this.#counts.create(full, uid);
    if (made === "created") {
      if (!namesSource) await this.#counts.lower(uid);
      // Rule: head-dated-before.
      return this.#newHead(full, atMs);
    }
    await this.#counts.lower(uid);
    return answerExisting(await this.#existing(sessionId, call), (head) => isRetry(head, source.record));
  }

  /** Answers a retry with the session that the first call made; otherwise throws the error. */
  async #orExisting(
    sessionId: string,
    isRetry: (existing: Head, source: SessionRecord | null) => boolean,
    source: SessionRecord | null,
    error: DomainError,
    call?: Call,
  ): Promise<Head> {
    const existing = await this.#context.load(sessionId, call);
    if (existing) return answerExisting(existing, (head) => isRetry(head, source));
    throw error;
  }

  async #born(record: NextRecord, isRetry: (existing: Head) => boolean, call?: Call): Promise<Head> {
    return this.#context.retrying(record.sessionId, call, async () => {
      const atMs = this.#context.knownMs();
      if ((await this.#context.store.createRecord(record, call)) === "created") return this.#newHead(record, atMs);
      return answerExisting(await this.#existing(record.sessionId, call), isRetry);
    });
  }

  /** The session that has an id. One that has expired gives its id up; then, and when it is gone, the caller tries again. */
  async #existing(sessionId: string, call?: Call): Promise<Head> {
    const existing = await this.#context.load(sessionId, call);
    if (existing) return existing;
    await this.#editor.deleteExpired(sessionId, call);
    throw new Again();
  }

  async #take(source: Head, upToMessageId: string, call?: Call): Promise<Taken> {
    const visible = visibleSegments(source);
    if (upToMessageId !== "") {
      const last = (await locateOnHead(this.#context, source, [upToMessageId], call)).get(upToMessageId);
      if (!last) throw noMessage(upToMessageId, source.record.sessionId);
      const segments = sliceSegments(visible, 0, last.position + 1);
      return { segments, lastId: upToMessageId, lastTimestampMicros: last.entry.timestampMicros };
    }
    if (source.count === 0) return { segments: [], lastId: null, lastTimestampMicros: null };
    const lastId = source.lastId ?? (await entryAt(this.#context, visible, source.count - 1, call)).id;
    return { segments: visible, lastId, lastTimestampMicros: source.lastTimestampMicros };
  }

  /** The head of a session that was just made. `atMs`: the store's time that was known before the record was sent. */
  #newHead(record: NextRecord, atMs: number): Head {
    return this.#context.rememberEmpty({ ...record, forks: 0 }, atMs);
  }
}

function answerExisting(existing: Head, isRetry: (existing: Head) => boolean): Head {
  if (isRetry(existing)) return existing;
  const id = JSON.stringify(existing.record.sessionId);
  throw new DomainError("already_exists", `Session ${id} exists and was not made by this call`);
}
