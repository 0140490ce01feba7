import type { Call } from "../../domain/call.js";
import { DomainError, invalidArgument, notFound } from "../../domain/errors.js";
import { sameStruct } from "../../domain/json.js";
import type { NewSession } from "../../domain/session.js";
import type { ForkOptions } from "../storage-provider.js";
import { type Editor, isDefinite, noMessage } from "./editor.js";
import { Again, type Head, type HistoryContext, visibleSegments } from "./heads.js";
import type { AncestrySegment, Entry, NextRecord, Origin, Segment, SessionRecord } from "./log-store.js";
import { entryAt, locate, locateOnHead, readSegments } from "./lookup.js";
import type { Attempt, Placer } from "./placer.js";
import type { RecordWriter } from "./record-writer.js";
import { sliceSegments, totalLength } from "./segments.js";

export interface Copied {
  readonly forkPointId: string | null;
  readonly copiedCount: number;
}

/** What a fork or copy takes from its source. */
interface Taken {
  readonly segments: readonly Segment[];
  readonly lastId: string | null;
  readonly lastTimestampMicros: number;
}

/** Makes sessions, empty or from others, and copies between them. */
export class Brancher {
  readonly #context: HistoryContext;
  readonly #writer: RecordWriter;
  readonly #editor: Editor;
  readonly #placer: Placer;

  constructor(context: HistoryContext, writer: RecordWriter, editor: Editor, placer: Placer) {
    this.#context = context;
    this.#writer = writer;
    this.#editor = editor;
    this.#placer = placer;
  }

  /** See StorageProvider.createSession. */
  async create(session: NewSession & { readonly sessionId: string }, call?: Call): Promise<Head> {
    const { sessionId, parentId = "", title = "", metadata } = session;
    const fields = { sessionId, parentId, title, metadata };
    // Only what the caller set is compared, with the session as it is now (api.md, Same content).
    const isRetry = ({ record }: Head) =>
      (parentId === "" || record.parentId === parentId) &&
      (title === "" || record.title === title) &&
      (sameStruct(metadata, {}) || sameStruct(record.metadata, metadata));
    if (parentId === "") return this.#born(this.#recordOf(fields), isRetry, call);
    return this.#fromSource(parentId, sessionId, isRetry, call, async (parent) => {
      const shown = visibleSegments(parent).map((segment): AncestrySegment => ({ ...segment, sessionId: parentId }));
      return this.#recordOf({
        ...fields,
        ancestry: [...parent.record.ancestry, ...shown],
        sources: [parent.record.uid],
      });
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
      return this.#recordOf({
        sessionId,
        parentId: sourceId,
        title: title || source.record.title,
        metadata: source.record.metadata,
        forkPointId: taken.lastId ?? "",
        inheritedCount: totalLength(taken.segments),
        segments: taken.segments,
        lastTimestampMicros: taken.lastTimestampMicros,
        ancestry: source.record.ancestry,
        sources: [source.record.uid],
        origin: { kind, sourceSessionId: sourceId, sourceUid: source.record.uid, upToMessageId },
      });
    });
  }

  /** See StorageProvider.forkConversation, `copy`. */
  async copy(sourceId: string, targetId: string, upToMessageId: string, call?: Call): Promise<Copied> {
    if (sourceId === targetId) {
      throw invalidArgument(`target_session_id is the session itself: ${JSON.stringify(targetId)}`);
    }
    for (let attempt: Attempt | null = null; ; ) {
      const source = await this.#context.need(sourceId, call);
      const target = await this.#editor.settledHead(targetId, call);
      const atMs = Math.min(source.atMs, target.atMs);
      try {
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
        if (!(error instanceof Again) && !(isRefusal && this.#context.isOld(atMs))) throw error;
      }
      await this.#context.jitter(call);
    }
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
    // Nobody counts on an unforked session, so that no circle of sources can arise.
    if (target.count === 0 && (target.record.forks === 0 || !this.#context.keeps("share-copy-unforked-only"))) {
      const isShared = await this.#shareInto(source, target, taken, call);
      if (!isShared) return { lost: null };
      return { copied: { forkPointId: taken.lastId, copiedCount: totalLength(taken.segments) }, isSettled: true };
    }
    const entries = await readSegments(this.#context, taken.segments, call);
    const ids = entries.map(({ id }) => id);
    const known = await locate(this.#context, visibleSegments(target), ids, call);
    const fresh = entries.filter(({ id }) => !known.has(id));
    if (fresh.length === 0) {
      const now = await this.#context.need(target.record.sessionId, call);
      return now.record.revision === target.record.revision && now.seq === target.seq ? none : { lost: null };
    }
    const copied = { forkPointId: (fresh.at(-1) as Entry).id, copiedCount: fresh.length };
    const placed = await this.#placer.place(target, fresh, attempt, false, () => copied, call);
    return "answer" in placed ? { copied: placed.answer, isSettled: true } : placed;
  }

  async #shareInto(source: Head, target: Head, taken: Taken, call?: Call): Promise<boolean> {
    const { store } = this.#context;
    const { uid } = source.record;
    if (uid === target.record.uid) return false;
    if (!(await this.#raise(source, call))) return false;
    const { sources } = target.record;
    const change = {
      segments: taken.segments,
      lastTimestampMicros: taken.lastTimestampMicros,
      undo: null,
      kept: 0,
      sources: [...new Set([...sources, uid])],
    };
    const committed = await this.#writer.commit(target, change, call);
    if (!committed || sources.includes(uid)) await store.addFork(uid, -1, undefined, call);
    return committed !== null;
  }

  async #raise(source: Head, call?: Call): Promise<boolean> {
    if (!this.#context.keeps("raise-before-child")) return true;
    const revision = this.#context.keeps("raise-at-revision") ? source.record.revision : undefined;
    return this.#context.store.addFork(source.record.uid, 1, revision, call);
  }

  /**
   * Makes a session that names its source's logs: the source's `forks` goes up in the step that reads it, and down again when no such
   * session comes of it.
   */
  async #fromSource(
    sourceId: string,
    sessionId: string,
    isRetry: (existing: Head, source: SessionRecord | null) => boolean,
    call: Call | undefined,
    plan: (source: Head) => Promise<NextRecord>,
  ): Promise<Head> {
    const raise = this.#context.keeps("raise-before-child") && this.#context.keeps("raise-at-revision");
    for (;;) {
      const source = await this.#context.load(sourceId, call, { raise });
      if (!source) return this.#orExisting(sessionId, isRetry, null, notFound("Session", sourceId), call);
      const { uid } = source.record;
      const lower = async () => {
        if (this.#context.keeps("raise-before-child")) await this.#context.store.addFork(uid, -1, undefined, call);
      };
      let record: NextRecord;
      try {
        record = await plan(source);
      } catch (error) {
        if (raise) await lower();
        if (error instanceof Again) {
          await this.#context.jitter(call);
          continue;
        }
        if (!(error instanceof DomainError) || !isDefinite(error)) throw error;
        return this.#orExisting(sessionId, isRetry, source.record, error, call);
      }
      if (!raise && this.#context.keeps("raise-before-child")) await this.#raise(source, call);
      const namesSource = record.segments.length > 0 || record.ancestry.length > 0;
      const full = namesSource ? record : { ...record, sources: [] };
      const made = await this.#context.store.createRecord(full, call);
      if (made === "created") {
        if (!namesSource) await lower();
        else if (!this.#context.keeps("raise-before-child")) await this.#context.store.addFork(uid, 1, undefined, call);
        return this.#newHead(full);
      }
      await lower();
      const existing = await this.#context.load(sessionId, call);
      if (existing) return answerExisting(existing, (head) => isRetry(head, source.record));
    }
  }

  /** A retry's answer when the source no longer gives it, or the error. */
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
    for (;;) {
      if ((await this.#context.store.createRecord(record, call)) === "created") return this.#newHead(record);
      const existing = await this.#context.load(record.sessionId, call);
      if (existing) return answerExisting(existing, isRetry);
    }
  }

  async #take(source: Head, upToMessageId: string, call?: Call): Promise<Taken> {
    const visible = visibleSegments(source);
    if (upToMessageId !== "") {
      const last = (await locateOnHead(this.#context, source, [upToMessageId], call)).get(upToMessageId);
      if (!last) throw noMessage(upToMessageId, source.record.sessionId);
      const segments = sliceSegments(visible, 0, last.position + 1);
      return { segments, lastId: upToMessageId, lastTimestampMicros: last.entry.timestampMicros };
    }
    if (source.count === 0) return { segments: [], lastId: null, lastTimestampMicros: 0 };
    const lastId = source.lastId ?? (await entryAt(this.#context, visible, source.count - 1, call)).id;
    return { segments: visible, lastId, lastTimestampMicros: source.lastTimestampMicros };
  }

  #recordOf(fields: Partial<NextRecord> & { readonly sessionId: string }): NextRecord {
    const uid = this.#context.options.newUid();
    const now = this.#context.options.nowMicros();
    return {
      uid,
      parentId: "",
      forkPointId: "",
      inheritedCount: 0,
      title: "",
      createTimeMicros: now,
      updateTimeMicros: now,
      origin: null,
      revision: 1,
      version: 1,
      segments: [],
      log: this.#context.newLog(uid),
      lastTimestampMicros: 0,
      ancestry: [],
      undo: null,
      sideLog: null,
      rollovers: { count: 0, atMs: 0 },
      dropped: [],
      edits: [],
      sources: [],
      deleted: false,
      ...fields,
    };
  }

  #newHead(record: NextRecord): Head {
    const { deleted: _deleted, ...rest } = record;
    const head: Head = {
      record: { ...rest, dropped: rest.dropped, forks: 0, deletedAtMs: null },
      seq: 0,
      state: "open",
      count: totalLength(record.segments),
      lastTimestampMicros: record.lastTimestampMicros,
      lastId: null,
      atMs: this.#context.options.clockMs(),
    };
    this.#context.remember(head);
    return head;
  }
}

function answerExisting(existing: Head, isRetry: (existing: Head) => boolean): Head {
  if (isRetry(existing)) return existing;
  const id = JSON.stringify(existing.record.sessionId);
  throw new DomainError("already_exists", `Session ${id} exists and was not made by this call`);
}
