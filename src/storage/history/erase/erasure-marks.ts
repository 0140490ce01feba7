import type { Call } from "../../../domain/call.js";
import type { HistoryContext } from "../heads.js";
import type { SessionRecord } from "../log-store.js";
import { openSegments } from "../read/pieces.js";
import { Again } from "../retries.js";
import { nextOf, type RecordReplacer } from "../write/record-replacer.js";
import { withEdit } from "../write/record-writer.js";
import type { ErasedPlaces } from "./erased-places.js";

/**
 * The changes that an erasure makes to records, so that followers read the message again and copies under way start
 * over.
 */
export class ErasureMarks {
  readonly #context: HistoryContext;
  readonly #replacer: RecordReplacer;
  readonly #onMarked: (sessionId: string) => void;
  /** Maps the uids of marked records to how many copies that this erasure has overwritten they showed at that time. */
  readonly #overwritten = new Map<string, number>();

  constructor(context: HistoryContext, replacer: RecordReplacer, onMarked: (sessionId: string) => void) {
    this.#context = context;
    this.#replacer = replacer;
    this.#onMarked = onMarked;
  }

  /**
   * Removes the names of copies under way from a record, so that their writers start over. Resolves to whether there
   * were any.
   */
  endCopies(seen: SessionRecord, call: Call): Promise<boolean> {
    return this.#change(seen, call, ({ namedLogs }) => (namedLogs.length === 0 ? null : { namedLogs: [] }));
  }

  /**
   * Notes in a record, as an edit, that messages which it shows were erased, unless that is noted already. Resolves to
   * whether the record changed.
   */
  async noteErasure(seen: SessionRecord, places: ErasedPlaces, call: Call): Promise<boolean> {
    let overwritten = 0;
    const isNoted = await this.#change(seen, call, (record) => {
      const visible = places.within(openSegments(record));
      if (visible === null) return null;
      const { position } = visible;
      overwritten = visible.overwritten;
      const before = this.#overwritten.get(record.uid);
      // An earlier call may have noted the erasure. That is so if this call found nothing left to overwrite in what the
      // record shows, and if the last edit that changed the message at the position was an erasure.
      const last = record.edits.findLast(({ kept, erased }) => kept === position || (kept < position && !erased));
      const isNotedBefore = before === undefined && overwritten === 0 && last?.erased === true;
      if (isNotedBefore || overwritten === before || (before !== undefined && overwritten < before)) return null;
      const single = visible.count === 1 ? ({ kind: "updated" } as const) : undefined;
      const edit = { kept: position, single, erased: true } as const;
      return {
        // Somebody may be updating the message, and keep a part of its old content. That update starts over as well.
        namedLogs: [],
        edits: withEdit(record, edit, this.#context.options.maxEdits),
        sessionRevision: record.sessionRevision + 1,
      };
    });
    if (!isNoted) return false;
    this.#overwritten.set(seen.uid, overwritten);
    this.#onMarked(seen.sessionId);
    return true;
  }

  #change(
    seen: SessionRecord,
    call: Call,
    plan: (record: SessionRecord) => Partial<SessionRecord> | null,
  ): Promise<boolean> {
    let known: SessionRecord | null = seen;
    return this.#context.retrying(seen.sessionId, call, async (saw) => {
      const record = known ?? (await this.#context.store.readRecordByUid(seen.uid, call));
      known = null;
      // A tombstone needs no change unless it can be brought back, because nobody appends to it or follows it. Neither
      // does a session that is being restored, because its messages come from a file.
      if (!record || (record.deleted && !record.bin)) return false;
      saw(record);
      const change = plan(record);
      if (change === null) return false;
      if (!(await this.#replacer.replace(record, { ...nextOf(record), ...change }, call))) throw new Again();
      return true;
    });
  }
}
