import { compareAnnotations, type StoredAnnotation } from "../../../domain/annotation.js";
import type { AttachmentContent } from "../../../domain/attachment.js";
import type { Call } from "../../../domain/call.js";
import { DomainError } from "../../../domain/errors.js";
import { sessionFields } from "../../../domain/session.js";
import type {
  BackupMessage,
  ImageOrigin,
  SessionKeys,
  SessionSnapshot,
  SnapshotRange,
  StoredRange,
} from "../../../domain/session-image.js";
import type { StorageProvider } from "../../storage-provider.js";
import { readAnnotations, toStored } from "../annotations/annotation-entry.js";
import type { Attachments } from "../attachments/attachments.js";
import { type Head, type HistoryContext, visibleSegments } from "../heads.js";
import type { Entry, Origin, Segment, SessionRecord } from "../log-store.js";
import type { Reader } from "../read/reader.js";
import { ownerOf } from "../record-facts.js";
import { ancestryGroups, joinSegments, unnamedBy } from "../segments.js";
import { undoAt } from "../undo.js";

/** Reads sessions for a backup. */
export class Snapshots {
  readonly #context: HistoryContext;
  readonly #reader: Reader;
  readonly #attachments: Attachments;

  constructor(context: HistoryContext, reader: Reader, attachments: Attachments) {
    this.#context = context;
    this.#reader = reader;
    this.#attachments = attachments;
  }

  /** Implements {@link StorageProvider.scanSessions}. */
  async scan(after: string, limit: number, call?: Call): Promise<SessionKeys> {
    const records = await this.#context.store.scanRecords(after, limit, call);
    const living = records.filter((record) => !record.deleted && !this.#context.isExpired(record));
    const keys = living.map(({ sessionId, createTimeMicros, owner }) => ({ sessionId, createTimeMicros, owner }));
    return { keys, ...(records.length === limit && { next: records.at(-1)?.uid }) };
  }

  /** Implements {@link StorageProvider.snapshotSession}. */
  snapshot(sessionId: string, call?: Call): Promise<SessionSnapshot | null> {
    return this.#context.retrying(sessionId, call, async (saw) => {
      const head = await this.#context.load(sessionId, call);
      if (!head) return null;
      saw(head);
      return this.#snapshotOf(head, call);
    });
  }

  async #snapshotOf(head: Head, call?: Call): Promise<SessionSnapshot> {
    const { record, atMs } = head;
    const session = this.#reader.sessionOf(head);
    const undo = undoAt(record, head.seq);
    const ranges = (segments: readonly Segment[]): SnapshotRange[] =>
      joinSegments(segments).map((range) => ({ ...range, isOwn: ownerOf(range.log) === record.uid }));
    return {
      ...sessionFields(session),
      revision: session.revision,
      origin: record.origin && (await this.#origin(record.origin, call)),
      ancestry: ancestryGroups(record.ancestry).map((group) => ({
        sessionId: group[0]?.sessionId ?? "",
        ranges: ranges(group),
      })),
      messages: ranges(visibleSegments(head)),
      undo: undo && ranges(undo.segments),
      ...(record.annotations && { annotations: await this.#annotations(record, call) }),
      isShared: record.forks > 0,
      uid: record.uid,
      atMs,
    };
  }

  /** In the order of lists, because their places tell only who wrote when, and differ after an import. */
  async #annotations(record: SessionRecord, call?: Call): Promise<readonly StoredAnnotation[]> {
    return (await readAnnotations(this.#context, record, call)).map(toStored).sort(compareAnnotations);
  }

  /** Implements {@link StorageProvider.readStored}. */
  async read(snapshot: SessionSnapshot, range: StoredRange, call?: Call): Promise<readonly BackupMessage[]> {
    const { store, options } = this.#context;
    const { log, first, last } = range;
    const limits = { limit: options.chunk, maxBytes: options.limits.pageBytes };
    const { entries } = await store.readRange(log, first, last, limits, call);
    if (entries[0]?.seq !== first) throw this.#vanished(snapshot);
    // Rule: late-reader-restarts. The rows that were read may be those of a slow writer, which came after a sweep.
    if (this.#context.isOld(snapshot.atMs)) {
      const record = await store.readRecord(snapshot.sessionId, call);
      if (record?.uid !== snapshot.uid || !this.#isKept(record, range)) throw this.#vanished(snapshot);
    }
    return entries.map(storedMessage);
  }

  /** Implements {@link StorageProvider.readStoredAttachment}. */
  async attachment(snapshot: SessionSnapshot, log: string, call?: Call): Promise<AttachmentContent | null> {
    const found = await this.#attachments.stored(log, () => this.#vanished(snapshot), call);
    if (found !== null) return found;
    // Unless a message still names it, the message of the snapshot has been erased or cleared away with it.
    const [naming] = await this.#context.attachments.namings(log, undefined, 1, call);
    if (naming === undefined) throw this.#vanished(snapshot);
    return null;
  }

  /**
   * Whether no sweep can have removed anything of a range that an earlier state of the record named. That is so for
   * what the record still names, and for what it has dropped if a sweep has not marked it yet, or has done so only
   * lately: what is marked is removed ten minutes later.
   */
  #isKept(record: SessionRecord, range: Segment): boolean {
    const unswept = record.dropped.filter(
      ({ markedAtMs }) => markedAtMs === undefined || !this.#context.isOld(markedAtMs),
    );
    return unnamedBy({ ...record, segments: [...record.segments, ...unswept] }, [range]).length === 0;
  }

  async #origin({ sourceUid, ...origin }: Origin, call?: Call): Promise<ImageOrigin> {
    const source = await this.#context.store.readRecord(origin.sourceSessionId, call);
    return { ...origin, sourceLives: source?.uid === sourceUid && !this.#context.isExpired(source) };
  }

  #vanished({ sessionId }: SessionSnapshot): DomainError {
    return new DomainError("aborted", `Session ${JSON.stringify(sessionId)} has changed while it was read`);
  }
}

function storedMessage({ id, role, timestampMicros, body, originSessionId }: Entry): BackupMessage {
  return { id, role, timestampMicros, body, originSessionId };
}
