import { permits } from "../../../domain/access.js";
import type { Call } from "../../../domain/call.js";
import { DomainError, NotImplementedError, notFound } from "../../../domain/errors.js";
import type { StorageProvider } from "../../storage-provider.js";
import type { Head, HistoryContext } from "../heads.js";
import type { BinTimes, RecordBin, SessionRecord } from "../log-store.js";
import { Again } from "../retries.js";
import { nextOf } from "../write/record-replacer.js";
import type { Editor } from "./editor.js";

/** How many deleted sessions with the same id are read at a time. */
const BATCH = 100;

/** Keeps deleted sessions for a while, and brings them back. */
export class Bin {
  readonly #context: HistoryContext;
  readonly #editor: Editor;

  constructor(context: HistoryContext, editor: Editor) {
    this.#context = context;
    this.#editor = editor;
  }

  /** The times of a session that is deleted now; undefined when it cannot be brought back. */
  async timesOf(record: SessionRecord, call?: Call): Promise<BinTimes | undefined> {
    const { options, store } = this.#context;
    const { bin } = store;
    if (options.undeleteMs === 0 || bin === undefined) return undefined;
    // The last one with this id is the one that is brought back, so no two may have the same time.
    const [before] = await bin.list({ sessionId: record.sessionId }, { limit: 1 }, call);
    const nowMicros = await this.#nowMicros(call);
    const deleteTimeMicros = Math.max(nowMicros, (before?.bin?.deleteTimeMicros ?? 0) + 1);
    const { expireTimeMicros = Number.POSITIVE_INFINITY } = record;
    // Rule: expiry-reaches-the-bin.
    const end = Math.min(expireTimeMicros, Math.floor(this.#context.retentionEndMicros(record)));
    const purgeTimeMicros = Math.min(nowMicros + options.undeleteMs * 1000, end);
    return purgeTimeMicros > nowMicros ? { deleteTimeMicros, purgeTimeMicros } : undefined;
  }

  /** Implements {@link StorageProvider.undeleteSession}. */
  undelete(sessionId: string, call?: Call): Promise<Head> {
    const bin = this.#bin();
    return this.#context.retrying(sessionId, call, async (saw) => {
      const living = await this.#context.load(sessionId, call);
      if (living !== null) {
        saw(living);
        // The answer to an earlier call may have been lost.
        if (living.record.broughtBackAs === living.record.sessionRevision) return living;
        throw taken(sessionId);
      }
      const record = await this.#lastOf(sessionId, call);
      if (record === null) {
        // Somebody else may have brought it back since.
        if ((await this.#context.visibleRecord(sessionId, call)) !== null) throw new Again();
        throw notFound("Session", sessionId);
      }
      saw(record);
      return this.#revive(bin, record, call);
    });
  }

  /** Deleted sessions that the caller may see and that can be brought back, newest delete first. */
  async list(...[filter, { limit, after }, call]: Parameters<RecordBin["list"]>): Promise<readonly SessionRecord[]> {
    const { store } = this.#context;
    const bin = this.#bin();
    const found: SessionRecord[] = [];
    for (let previous = after; ; ) {
      const page = await bin.list(filter, { limit, after: previous }, call);
      // What an answer tells of the time is enough here, because whoever brings one back asks for it.
      const nowMicros = store.knownTimeMs ? store.knownTimeMs() * 1000 : await this.#nowMicros(call);
      found.push(...page.filter((record) => this.#canReturn(record, nowMicros)));
      const last = page.at(-1);
      if (found.length >= limit || page.length < limit || last === undefined) return found.slice(0, limit);
      previous = { deleteTimeMicros: last.bin?.deleteTimeMicros ?? 0, sessionId: last.sessionId };
    }
  }

  async #revive(bin: RecordBin, record: SessionRecord, call?: Call): Promise<Head> {
    const { quotas, options } = this.#context;
    const { sessionId } = record;
    const sessionRevision = record.sessionRevision + 1;
    const next = {
      ...nextOf(record),
      deleted: false,
      bin: undefined,
      markedAtMs: null,
      sessionRevision,
      broughtBackAs: sessionRevision,
      updateTimeMicros: Math.max(record.updateTimeMicros, options.nowMicros()),
      revision: record.revision + 1,
    };
    await quotas.checkBytes(record, 0, call);
    const atMs = this.#context.knownMs();
    const revived: SessionRecord[] = [];
    const outcome = await quotas.making(record, call, async () => {
      // Rule: undelete-if-free.
      const stored = await bin.revive(next, record.revision, call);
      if (stored === null || stored === "exists") return "exists";
      revived.push(stored);
      return "created";
    });
    if (outcome instanceof DomainError) throw outcome;
    const [stored] = revived;
    if (stored !== undefined) return this.#context.rememberEmpty(stored, atMs);
    const living = await this.#context.store.readRecord(sessionId, call);
    if (living === null) throw new Again();
    // The id of a session that has expired is free.
    if (!this.#context.isExpired(living)) {
      if (living.uid === record.uid) throw new Again();
      throw taken(sessionId);
    }
    await this.#editor.deleteExpired(sessionId);
    throw new Again();
  }

  /** The session with this id that was deleted last, of those that the caller may see; null when there is none. */
  async #lastOf(sessionId: string, call?: Call): Promise<SessionRecord | null> {
    const nowMicros = await this.#nowMicros(call);
    for (let after: { deleteTimeMicros: number; sessionId: string } | undefined; ; ) {
      const page = await this.#bin().list({ sessionId }, { limit: BATCH, after }, call);
      // Rule: access-by-the-record.
      const found = page.find((record) => this.#canReturn(record, nowMicros) && permits(call, record));
      if (found !== undefined || page.length < BATCH) return found ?? null;
      after = { deleteTimeMicros: page.at(-1)?.bin?.deleteTimeMicros ?? 0, sessionId };
    }
  }

  /** Whether neither its time in the bin nor its own is over. */
  #canReturn(record: SessionRecord, nowMicros: number): boolean {
    // Rule: expiry-reaches-the-bin.
    return (record.bin?.purgeTimeMicros ?? 0) > nowMicros && !this.#context.isExpired(record);
  }

  /** The store's time. Asking for it also brings up to date what decides about expiry. */
  async #nowMicros(call?: Call): Promise<number> {
    return Math.floor((await this.#context.store.timeMs(call)) * 1000);
  }

  #bin(): RecordBin {
    const { store } = this.#context;
    if (store.bin === undefined) throw new NotImplementedError(store.constructor.name, "undeleting sessions");
    return store.bin;
  }
}

function taken(sessionId: string): DomainError {
  return new DomainError("already_exists", `Session ${JSON.stringify(sessionId)} exists already`);
}
