import { type Call, checkCall } from "../../domain/call.js";
import type { ChatMessage } from "../../domain/chat-message.js";
import { DomainError, invalidArgument, notFound } from "../../domain/errors.js";
import { embeddedSize, messageSize } from "../../domain/message-size.js";
import type { LoadedSession, MessageCursor, MessagePage, MessageQuery } from "../../domain/page.js";
import type { Session } from "../../domain/session.js";
import type { GetMessagesOptions, ListMessagesOptions } from "../storage-provider.js";
import { Again, type Head, type HistoryContext, visibleSegments } from "./heads.js";
import type { Entry, Range, Segment, SessionRecord } from "./log-store.js";
import { countBefore, locate } from "./lookup.js";
import { ancestryGroups, OPEN_END, positionOf, segmentLength, sliceSegments, totalLength } from "./segments.js";

/** Segments in the order of the list, and how their messages are shown. */
interface Piece extends Segment {
  readonly sessionId: string;
  /** Position of the first one's message; null for ancestors. */
  readonly position: number | null;
  /** Which ancestor, counted from the oldest; undefined for the session's own. */
  readonly ancestor: number | undefined;
  /** Whether it is the open log, and may reach further than that does. */
  readonly isOpen: boolean;
}

/** One message of a page, and where it is stored. */
interface Shown {
  readonly entry: Entry;
  readonly piece: Piece;
}

interface Window {
  readonly shown: readonly Shown[];
  /** Whether more of the list follows. */
  readonly hasMore: boolean;
}

/** A missing row is read again this often before it counts as damage. */
const MAX_GAPS = 100;

/** Reads take no lock: a record, then ranges of logs that never change. What took longer than a minute is read again. */
export class Reader {
  readonly #context: HistoryContext;

  constructor(context: HistoryContext) {
    this.#context = context;
  }

  /** See StorageProvider.getMessage. */
  get(sessionId: string, messageId: string, call?: Call): Promise<ChatMessage | null> {
    return this.#reading(sessionId, call, async () => {
      const record = await this.#record(sessionId, call);
      const visible = openSegments(record);
      const located = (await locate(this.#context, visible, [messageId], call)).get(messageId);
      if (!located || !(await this.#isWhole(record, located.entry, call))) return null;
      return shownMessage(located.entry, sessionId, located.position);
    });
  }

  /** See StorageProvider.listMessages. */
  list(sessionId: string, options: ListMessagesOptions): Promise<MessagePage> {
    const { cursor, limit, offset = 0 } = options;
    const query = queryOf(options);
    return this.#reading(sessionId, options, async () => {
      const hasTimes = query.sinceMicros !== undefined || query.untilMicros !== undefined;
      const needsEnd = hasTimes || (query.newestFirst && !cursor);
      const head = needsEnd ? await this.#context.need(sessionId, options) : null;
      const record = head?.record ?? (await this.#record(sessionId, options));
      if (cursor) checkCursor(cursor, record, query);
      const pieces = await this.#pieces(record, head, query, options);
      const window = await this.#window(record, pieces, query, { cursor, offset, limit }, options);
      return this.#page(record, query, window);
    });
  }

  /** See StorageProvider.loadSession. */
  load(
    sessionId: string,
    options: { limit: number; cursor?: MessageCursor | undefined } & Call,
  ): Promise<LoadedSession> {
    const query = queryOf({ newestFirst: true });
    return this.#reading(sessionId, options, async () => {
      const head = await this.#context.need(sessionId, options);
      const { cursor, limit } = options;
      if (cursor) checkCursor(cursor, head.record, query);
      const pieces = await this.#pieces(head.record, head, query, options);
      const window = await this.#window(head.record, pieces, query, { cursor, offset: 0, limit }, options);
      const page = this.#page(head.record, query, window);
      return { session: this.sessionOf(head), messages: page.messages.toReversed(), next: page.next };
    });
  }

  /** See StorageProvider.getSessionMessages. */
  getAll(sessionId: string, options: GetMessagesOptions): Promise<ChatMessage[]> {
    return this.#reading(sessionId, options, async () => {
      const head = await this.#context.need(sessionId, options);
      const pieces = await this.#pieces(head.record, head, queryOf(options), options);
      const total = totalLength(pieces);
      const { limit = total, offset = Math.max(total - limit, 0) } = options;
      const messages: ChatMessage[] = [];
      for (const piece of slicePieces(pieces, offset, Math.min(offset + limit, total))) {
        for (let seq = piece.first; seq <= piece.last; ) {
          const range = await this.#context.store.readRange(
            piece.log,
            seq,
            piece.last,
            { limit: this.#context.options.chunk },
            options,
          );
          if (range.entries[0]?.seq !== seq) throw new Again();
          for (const entry of range.entries) messages.push(shownAs({ entry, piece }));
          seq += range.entries.length;
        }
      }
      return messages;
    });
  }

  /** A read of a head and of what follows from it; see `#reading`. */
  withHead<T>(sessionId: string, call: Call | undefined, read: (head: Head) => Promise<T>): Promise<T> {
    return this.#reading(sessionId, call, async () => read(await this.#context.need(sessionId, call)));
  }

  /** Messages at positions `from` to `to - 1` of a head, for a follower; fewer at the limit of bytes, but one at least. */
  async messagesAt(head: Head, from: number, to: number, call?: Call): Promise<readonly ChatMessage[]> {
    const query = queryOf({});
    const pieces = await this.#pieces(head.record, head, query, call);
    const window = await this.#read(head.record, slicePieces(pieces, from, to), false, to - from, call);
    return window.shown.map(shownAs);
  }

  /** The session as a head shows it. `update_time` follows appends lazily in the record, and exactly here. */
  sessionOf(head: Head): Session {
    const { record } = head;
    const appendedMicros = head.seq > 0 ? Math.min(head.lastTimestampMicros, this.#context.options.nowMicros()) : 0;
    return {
      ...sessionFields(record),
      updateTimeMicros: Math.max(record.updateTimeMicros, appendedMicros),
      messageCount: head.count,
      reverted: record.undo !== null && head.seq === 0,
    };
  }

  /** The session as lists show it: without its count, and with the update time that the record has. */
  async listedSession(record: SessionRecord, call?: Call): Promise<Session> {
    const tail = record.undo ? await this.#context.store.tail(record.log, call) : null;
    return { ...sessionFields(record), reverted: tail?.last === null };
  }

  /** Runs a read again when rows were missing, or when it took so long that a sweep may have come in between. */
  async #reading<T>(sessionId: string, call: Call | undefined, read: () => Promise<T>): Promise<T> {
    for (let gaps = 0; ; ) {
      checkCall(call);
      const atMs = this.#context.options.clockMs();
      const isLate = () => this.#context.isOld(atMs) && this.#context.keeps("late-reader-restarts");
      try {
        const result = await read();
        if (!isLate()) return result;
      } catch (error) {
        if (error instanceof Again) {
          if (!this.#context.isOld(atMs)) {
            this.#context.options.onAnomaly(`Rows of session ${JSON.stringify(sessionId)} were missing`);
            if (++gaps > MAX_GAPS)
              throw new DomainError("internal", "Messages of the session are missing in the store");
          }
          await this.#context.jitter(call);
        } else if (!(error instanceof DomainError) || !isLate()) {
          throw error;
        }
      }
    }
  }

  async #record(sessionId: string, call?: Call): Promise<SessionRecord> {
    const record = await this.#context.store.readRecord(sessionId, {}, call);
    if (!record) throw notFound("Session", sessionId);
    return record;
  }

  /** The list's segments. Without a head the open log's piece has no known end. */
  async #pieces(record: SessionRecord, head: Head | null, query: MessageQuery, call?: Call): Promise<Piece[]> {
    const groups: Piece[][] = query.includeAncestors
      ? ancestryGroups(record.ancestry).map((group, ancestor) =>
          group.map((segment) => ({ ...segment, position: null, ancestor, isOpen: false })),
        )
      : [];
    const own: Piece[] = [];
    let position = 0;
    for (const segment of head ? visibleSegments(head) : openSegments(record)) {
      const isOpen = !head && segment.log === record.log;
      own.push({ ...segment, sessionId: record.sessionId, position, ancestor: undefined, isOpen });
      position += segmentLength(segment);
    }
    groups.push(own);
    if (query.sinceMicros === undefined && query.untilMicros === undefined) return groups.flat();
    const between: Piece[] = [];
    for (const group of groups) {
      const { sinceMicros, untilMicros } = query;
      const from = sinceMicros === undefined ? 0 : await countBefore(this.#context, group, sinceMicros, call);
      const to =
        untilMicros === undefined ? totalLength(group) : await countBefore(this.#context, group, untilMicros, call);
      between.push(...slicePieces(group, from, to));
    }
    return between;
  }

  async #window(
    record: SessionRecord,
    pieces: readonly Piece[],
    query: MessageQuery,
    { cursor, offset, limit }: { cursor: MessageCursor | undefined; offset: number; limit: number },
    call?: Call,
  ): Promise<Window> {
    const place = cursor ? await this.#placeOf(pieces, cursor, call) : null;
    if (!query.newestFirst) {
      const from = place === null ? offset : place + 1;
      return this.#read(record, slicePieces(pieces, from, from + limit + 1), false, limit, call);
    }
    const to = place === null ? totalLength(pieces) - offset : place;
    const from = Math.max(to - limit, 0);
    const window = await this.#read(record, slicePieces(pieces, from, Math.max(to, 0)), true, limit, call);
    return { shown: window.shown, hasMore: window.hasMore || (from > 0 && window.shown.length > 0) };
  }

  /** Where the cursor's message is in the list now; its stored place is a hint, its id decides. */
  async #placeOf(pieces: readonly Piece[], cursor: MessageCursor, call?: Call): Promise<number> {
    const before = pieces.findIndex((piece) => piece.ancestor === cursor.ancestor);
    const group = pieces.filter((piece) => piece.ancestor === cursor.ancestor);
    const start = totalLength(pieces.slice(0, Math.max(before, 0)));
    const hinted = positionOf(group, cursor.log, cursor.seq);
    if (hinted >= 0) return start + hinted;
    const located =
      this.#context.keeps("token-by-id") &&
      (await locate(this.#context, group, [cursor.messageId], call)).get(cursor.messageId);
    if (located) return start + located.position;
    throw new DomainError(
      "failed_precondition",
      `Message ${JSON.stringify(cursor.messageId)}, after which the page begins, is no longer in the history`,
    );
  }

  /** Reads pieces, from the end when descending, up to `limit` messages and the limit of bytes. */
  async #read(
    record: SessionRecord,
    pieces: readonly Piece[],
    isDescending: boolean,
    limit: number,
    call?: Call,
  ): Promise<Window> {
    const { pageBytes: maxBytes } = this.#context.options.limits;
    const shown: Shown[] = [];
    let bytes = 0;
    for (const piece of isDescending ? pieces.toReversed() : pieces) {
      const wanted = Math.min(segmentLength(piece), limit + 1 - shown.length);
      if (wanted <= 0) return { shown: shown.slice(0, limit), hasMore: true };

      const bounds = isDescending ? [piece.last - wanted + 1, piece.last] : [piece.first, piece.first + wanted - 1];
      const options = { descending: isDescending, limit: wanted, maxBytes: Math.max(maxBytes - bytes, 1) };
      const range = await this.#context.store.readRange(
        piece.log,
        bounds[0] as number,
        bounds[1] as number,
        options,
        call,
      );
      const expected = isDescending ? piece.last : piece.first;
      if (range.entries.length > 0 && range.entries[0]?.seq !== expected) throw new Again();
      if (range.entries.length < wanted && !range.cut && !piece.isOpen) throw new Again();
      const entries =
        piece.log === record.log && !isDescending
          ? await this.#wholeBatches(record, range, range.entries.length === wanted, call)
          : range.entries;
      for (const entry of entries) {
        if (shown.length === limit) return { shown, hasMore: true };
        const size = embeddedSize(messageSize(shownAs({ entry, piece }), outputOf({ entry, piece })));
        if (bytes + size > maxBytes && shown.length > 0) return { shown, hasMore: true };
        bytes += size;
        shown.push({ entry, piece });
      }
      if (range.cut) return { shown, hasMore: true };
    }
    return { shown, hasMore: false };
  }

  /** Without the messages at the end whose batch was not there as a whole when they were read. */
  async #wholeBatches(
    record: SessionRecord,
    { entries, cut }: Range,
    isFull: boolean,
    call?: Call,
  ): Promise<readonly Entry[]> {
    const last = entries.at(-1);
    if (!last || last.owed === 0) return entries;
    // Only of a batch that may go on behind what was asked for can the rest be looked up: it would not be in this read.
    if ((isFull || cut) && (await this.#isWhole(record, last, call))) return entries;
    if (!this.#context.keeps("whole-batches-only")) return entries;
    let end = entries.length;
    while (end > 0 && (entries[end - 1] as Entry).owed > 0) end--;
    return entries.slice(0, end);
  }

  async #isWhole(record: SessionRecord, entry: Entry, call?: Call): Promise<boolean> {
    if (entry.owed === 0 || entry.log !== record.log || !this.#context.keeps("whole-batches-only")) return true;
    const end = entry.seq + entry.owed;
    const head = this.#context.cached(record.sessionId);
    if (head?.record.log === record.log && head.seq >= end) return true;
    const { entries } = await this.#context.store.readRange(record.log, end, end, {}, call);
    return entries.length === 1;
  }

  #page(record: SessionRecord, query: MessageQuery, { shown, hasMore }: Window): MessagePage {
    const messages = shown.map(shownAs);
    const last = shown.at(-1);
    if (!hasMore || !last) return { messages };
    const { log, seq, id } = last.entry;
    const { ancestor } = last.piece;
    return { messages, next: { sessionUid: record.uid, query, log, seq, messageId: id, ancestor } };
  }
}

function sessionFields(record: SessionRecord): Omit<Session, "reverted"> {
  return {
    sessionId: record.sessionId,
    parentId: record.parentId,
    forkPointId: record.forkPointId,
    title: record.title,
    metadata: record.metadata,
    createTimeMicros: record.createTimeMicros,
    updateTimeMicros: record.updateTimeMicros,
    inheritedCount: record.inheritedCount,
    revision: record.version,
  };
}

/** The closed segments, and the open log without a known end. */
function openSegments(record: SessionRecord): Segment[] {
  return [...record.segments, { log: record.log, first: 1, last: OPEN_END - totalLength(record.segments) - 1 }];
}

function slicePieces(pieces: readonly Piece[], from: number, to: number): Piece[] {
  const starts = new Map<Piece, number>();
  let start = 0;
  for (const piece of pieces) {
    starts.set(piece, start);
    start += segmentLength(piece);
  }
  return pieces.flatMap((piece) => {
    const offset = starts.get(piece) as number;
    return sliceSegments([piece], from - offset, to - offset).map((slice) => ({
      ...slice,
      position: piece.position === null ? null : piece.position + slice.first - piece.first,
    }));
  });
}

function shownAs({ entry, piece }: Shown): ChatMessage {
  const position = piece.position === null ? undefined : piece.position + entry.seq - piece.first;
  return shownMessage(entry, piece.sessionId, position);
}

function shownMessage(entry: Entry, sessionId: string, position: number | undefined): ChatMessage {
  const { id, role, timestampMicros, parts, metadata, originSessionId } = entry;
  return { id, sessionId, role, timestampMicros, parts, metadata, position, originSessionId };
}

function outputOf(shown: Shown): ChatMessage {
  return shownAs(shown);
}

function queryOf({ newestFirst, includeAncestors, sinceMicros, untilMicros }: MessageQuery): MessageQuery {
  return { newestFirst: newestFirst ?? false, includeAncestors: includeAncestors ?? false, sinceMicros, untilMicros };
}

/** A cursor belongs to one list of one session; a session re-created under the same id is another one. */
function checkCursor(cursor: MessageCursor, record: SessionRecord, query: MessageQuery): void {
  if (cursor.sessionUid !== record.uid) {
    throw invalidArgument(`page_token belongs to another session than ${JSON.stringify(record.sessionId)}`);
  }
  const given = queryOf(cursor.query);
  const isSame = (Object.keys(given) as (keyof MessageQuery)[]).every((key) => given[key] === query[key]);
  if (!isSame) throw invalidArgument("page_token belongs to a list in another order or with other filters");
}
