import type { Call } from "../../../domain/call.js";
import { NotImplementedError } from "../../../domain/errors.js";
import { previewOf } from "../../../domain/message-preview.js";
import { cutAtBytes } from "../../../domain/page.js";
import type { MessagePreview, Session, SessionView } from "../../../domain/session.js";
import { listedSize } from "../../../domain/session-size.js";
import { failureIn } from "../../../parts/failure.js";
import type { HistoryContext } from "../heads.js";
import type {
  Entry,
  FoundRecords,
  QueryPage,
  RecordPage,
  RecordQueries,
  RecordQuery,
  SessionRecord,
} from "../log-store.js";
import { isPlainList, placeIn } from "../record-queries.js";
import { totalLength } from "../segments.js";
import { undoAt } from "../undo.js";
import { recordFields } from "./record-fields.js";
import { usageOf } from "./session-usage.js";

/** How many sessions have their last messages in memory at the same time. */
const AT_ONCE = 50;

/** Lists sessions. Their update time is the one in the record. */
export class SessionLister {
  readonly #context: HistoryContext;

  constructor(context: HistoryContext) {
    this.#context = context;
  }

  /** A page of records, without sessions that have expired and are waiting for the sweep. */
  async unexpired(query: RecordQuery, { limit, after }: QueryPage, call?: Call): Promise<FoundRecords> {
    // One more than asked for says whether something follows.
    const { records, next } = this.#isListed(query)
      ? { records: await this.#listed(query, { limit: limit + 1, after }, call), next: null }
      : await this.#found(this.#queries(), query, { limit: limit + 1, after }, call);
    const last = records[limit - 1];
    if (records.length <= limit || last === undefined) return { records, next };
    return { records: records.slice(0, limit), next: placeIn(last, query.order) };
  }

  /** A store without queries lists what needs none in its own way. */
  #isListed(query: RecordQuery): boolean {
    const { queries } = this.#context.store;
    return isPlainList(queries ? query : { ...query, parentId: "", labels: [] });
  }

  #queries(): RecordQueries {
    const { queries } = this.#context.store;
    if (queries) return queries;
    throw new NotImplementedError("StorageProvider", "listing sessions in this order or with these conditions");
  }

  async #found(queries: RecordQueries, query: RecordQuery, { limit, after }: QueryPage, call?: Call) {
    const found: SessionRecord[] = [];
    for (let place = after; ; ) {
      const asked = limit - found.length;
      const { records, next } = await queries.find(query, { limit: asked, after: place }, call);
      found.push(...records.filter((record) => !this.#context.isExpired(record)));
      if (next === null || records.length < asked || found.length === limit) return { records: found, next };
      place = next;
    }
  }

  async #listed(filter: RecordQuery, { limit, after }: QueryPage, call?: Call): Promise<readonly SessionRecord[]> {
    const found: SessionRecord[] = [];
    const start = after && { updateTimeMicros: after.key as number, sessionId: after.sessionId };
    for (let previous: RecordPage["after"] = start; ; ) {
      const page = await this.#context.store.listRecords(filter, { limit, after: previous }, call);
      found.push(...page.filter((record) => !this.#context.isExpired(record)));
      const last = page.at(-1);
      // What follows was changed earlier, so its retention is over as well.
      const isEnd = page.length < limit || last === undefined || this.#context.isPastRetention(last);
      if (found.length >= limit || isEnd) return found.slice(0, limit);
      previous = last;
    }
  }

  /** The sessions of the records, or as many of the first as fit into a page, but at least one. */
  async list(records: readonly SessionRecord[], view: SessionView, call?: Call): Promise<readonly Session[]> {
    return cutAtBytes(await this.#all(records, view, call), this.#context.options.limits.pageBytes, listedSize);
  }

  async #all(records: readonly SessionRecord[], view: SessionView, call?: Call): Promise<readonly Session[]> {
    if (view === "basic") return Promise.all(records.map((record) => this.#basic(record, call)));
    const sessions: Session[] = [];
    for (let start = 0; start < records.length; start += AT_ONCE) {
      sessions.push(...(await this.#full(records.slice(start, start + AT_ONCE), call)));
    }
    return sessions;
  }

  async #basic(record: SessionRecord, call?: Call): Promise<Session> {
    if (!record.undo) return { ...recordFields(record), reverted: false };
    const { last } = await this.#context.store.tail(record.log, call);
    return { ...recordFields(record), reverted: undoAt(record, last?.seq ?? 0) !== null };
  }

  /** The record and then the end of its open log are a state that really existed, as in `HistoryContext.load`. */
  async #full(records: readonly SessionRecord[], call?: Call): Promise<Session[]> {
    const logs = records.map(({ log }) => log);
    const open = await this.#context.store.readLast(logs, call);
    const shown = records.map((record, i) => ({ record, seq: open[i]?.seq ?? 0 }));
    const sums = await usageOf(this.#context, shown, call);
    return Promise.all(
      records.map(async (record, i) => {
        const entry = open[i] ?? null;
        const seq = entry?.seq ?? 0;
        const last = entry ?? (await this.#lastClosed(record, call));
        return {
          ...recordFields(record),
          messageCount: totalLength(record.segments) + seq,
          reverted: undoAt(record, seq) !== null,
          ...(last && { lastMessage: previewOfEntry(last) }),
          ...sums[i],
        };
      }),
    );
  }

  /** The last message of the segments; null when there is none, or when the session was deleted and swept meanwhile. */
  async #lastClosed({ segments }: SessionRecord, call?: Call): Promise<Entry | null> {
    const segment = segments.at(-1);
    if (segment === undefined) return null;
    const { entries } = await this.#context.store.readRange(segment.log, segment.last, segment.last, {}, call);
    return entries[0] ?? null;
  }
}

function previewOfEntry(entry: Entry): MessagePreview {
  const { parts, metadata, usage } = entry.body;
  return previewOf({ ...entry, parts, usage }, failureIn([{ info: { metadata }, parts }])?.reason);
}
