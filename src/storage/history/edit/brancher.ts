import { ownerOfNew, permits } from "../../../domain/access.js";
import { type Call, checkCall, withoutAccess } from "../../../domain/call.js";
import { untilCallEnd } from "../../../domain/call-end.js";
import { DomainError, notFound } from "../../../domain/errors.js";
import { sameStruct } from "../../../domain/json.js";
import { inOrder } from "../../../domain/labels.js";
import type { NewSession } from "../../../domain/session.js";
import type { ForkOptions, StorageProvider } from "../../storage-provider.js";
import type { Head, HistoryContext } from "../heads.js";
import type { NextRecord, Origin, SessionRecord } from "../log-store.js";
import { Again, isDefinite } from "../retries.js";
import { totalLength } from "../segments.js";
import type { Inserter } from "../write/inserter.js";
import type { Editor } from "./editor.js";
import { ForkCounts } from "./fork-counts.js";
import { ancestryUnder, newRecord } from "./new-record.js";
import { messagesUpTo } from "./source-messages.js";

/** An attempt to make a session from another one. */
interface Branch {
  readonly sourceId: string;
  readonly sessionId: string;
  readonly isRetry: (existing: Head, source: SessionRecord | null) => boolean;
  readonly call: Call | undefined;
  readonly plan: (source: Head) => Promise<NextRecord>;
  readonly saw: (source: Head) => void;
}

/** Makes sessions, empty or from others. */
export class Brancher {
  readonly #context: HistoryContext;
  readonly #editor: Editor;
  readonly #inserter: Inserter;
  readonly #counts: ForkCounts;

  constructor(context: HistoryContext, editor: Editor, inserter: Inserter) {
    this.#context = context;
    this.#editor = editor;
    this.#inserter = inserter;
    this.#counts = new ForkCounts(context);
  }

  /** Implements {@link StorageProvider.createSession}. */
  async create(session: NewSession & { readonly sessionId: string }, call?: Call): Promise<Head> {
    const { sessionId, parentId = "", title = "", metadata, labels, expireTimeMicros } = session;
    const owner = ownerOfNew(call, session.owner);
    const fields = { sessionId, parentId, title, metadata, labels: inOrder(labels), owner, expireTimeMicros };
    // Only the fields that the caller set are compared, with the current session (docs/api.md, Same content).
    const isRetry = ({ record }: Head) =>
      (parentId === "" || record.parentId === parentId) &&
      (title === "" || record.title === title) &&
      (sameStruct(metadata, {}) || sameStruct(record.metadata, metadata)) &&
      (sameStruct(labels, {}) || sameStruct(record.labels, labels)) &&
      (owner === undefined || record.owner === owner) &&
      (expireTimeMicros === undefined || record.expireTimeMicros === expireTimeMicros);
    if (parentId === "") return this.#born(fields, isRetry, call);
    return this.#fromSource(parentId, sessionId, isRetry, call, async (parent) => {
      const ancestry = await ancestryUnder(this.#context, this.#inserter, parent, call);
      const creator = this.#context.quotas.creatorOf(call);
      return newRecord(this.#context, { ...fields, ...creator, ancestry, sources: [parent.record.uid] });
    });
  }

  /** Implements {@link StorageProvider.forkConversation}, `fork` and `share`. */
  async fork(
    sourceId: string,
    sessionId: string,
    kind: Origin["kind"],
    { upToMessageId = "", title }: Pick<ForkOptions, "upToMessageId" | "title">,
    call?: Call,
  ): Promise<Head> {
    const owner = ownerOfNew(call, undefined);
    const isRetry = ({ record: { origin } }: Head, source: SessionRecord | null) =>
      origin?.kind === kind &&
      origin.sourceSessionId === sourceId &&
      origin.upToMessageId === upToMessageId &&
      (source === null || source.uid === origin.sourceUid);
    return this.#fromSource(sourceId, sessionId, isRetry, call, async (source) => {
      const inherited = await messagesUpTo(this.#context, source, upToMessageId, call);
      return newRecord(this.#context, {
        ...this.#context.quotas.creatorOf(call),
        sessionId,
        parentId: sourceId,
        title: title || source.record.title,
        metadata: source.record.metadata,
        labels: source.record.labels,
        owner: owner ?? source.record.owner,
        forkPointId: inherited.lastId ?? "",
        inheritedCount: totalLength(inherited.segments),
        segments: inherited.segments,
        lastTimestampMicros: inherited.lastTimestampMicros ?? 0,
        ancestry: source.record.ancestry,
        annotations: inherited.segments.length === 0 ? undefined : source.record.annotations,
        sources: [source.record.uid],
        origin: { kind, sourceSessionId: sourceId, sourceUid: source.record.uid, upToMessageId },
      });
    });
  }

  /**
   * Makes a session that names its source's logs. The source's `forks` is raised in the step that reads it, and lowered
   * again when no such session is made. When the call's deadline passes, the caller gets an error at once, but
   * a raised count is still lowered.
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
    // Rule: raise-before-child. The step that reads the source raises it.
    const source = await this.#counts.loadRaised(sourceId, call);
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
    let isSent = false;
    const make = () => {
      isSent = true;
      return this.#counts.create(full, uid);
    };
    const made = await this.#context.quotas.making(full, call, make).catch(async (error: unknown) => {
      if (!isSent) await this.#counts.lower(uid);
      throw error;
    });
    if (made === "created") {
      if (!namesSource) await this.#counts.lower(uid);
      // Rule: head-dated-before.
      return this.#newHead(full, atMs);
    }
    await this.#counts.lower(uid);
    if (made !== "exists") await this.#refuseNew(sessionId, made, call);
    return answerExisting(await this.#existing(sessionId, call), (head) => isRetry(head, source.record), call);
  }

  /** Throws the refusal of a new session, unless there is one with the id, which the caller may have made before. */
  async #refuseNew(sessionId: string, refusal: DomainError, call?: Call): Promise<void> {
    if (!(await this.#context.loadLiving(sessionId, withoutAccess(call)))) throw refusal;
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
    if (existing) return answerExisting(existing, (head) => isRetry(head, source), call);
    throw error;
  }

  async #born(
    fields: Parameters<typeof newRecord>[1],
    isRetry: (existing: Head) => boolean,
    call?: Call,
  ): Promise<Head> {
    return this.#context.retrying(fields.sessionId, call, async () => {
      const atMs = this.#context.knownMs();
      // Each attempt has a uid of its own, because a store may have blocked the uid of one that was refused.
      const record = newRecord(this.#context, { ...fields, ...this.#context.quotas.creatorOf(call) });
      const { store, quotas } = this.#context;
      const made = await quotas.making(record, call, () => store.createRecord(record, call));
      if (made === "created") return this.#newHead(record, atMs);
      if (made !== "exists") await this.#refuseNew(record.sessionId, made, call);
      return answerExisting(await this.#existing(record.sessionId, call), isRetry, call);
    });
  }

  /**
   * The session that has an id, whether or not the caller may see it. An expired one is deleted, so that its id is
   * free. In that case, and when the session was deleted meanwhile, this throws `Again`.
   */
  async #existing(sessionId: string, call?: Call): Promise<Head> {
    const existing = await this.#context.load(sessionId, withoutAccess(call));
    if (existing) return existing;
    await this.#editor.deleteExpired(sessionId, withoutAccess(call));
    throw new Again();
  }

  /** The head of a session that was just made. `atMs`: the store's time that was known before the record was sent. */
  #newHead(record: NextRecord, atMs: number): Head {
    return this.#context.rememberEmpty({ ...record, forks: 0 }, atMs);
  }
}

function answerExisting(existing: Head, isRetry: (existing: Head) => boolean, call: Call | undefined): Head {
  // Rule: access-by-the-record.
  if (permits(call, existing.record) && isRetry(existing)) return existing;
  const id = JSON.stringify(existing.record.sessionId);
  throw new DomainError("already_exists", `Session ${id} exists and was not made by this call`);
}
