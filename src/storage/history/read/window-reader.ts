import type { Call } from "../../../domain/call.js";
import type { ChatMessage } from "../../../domain/chat-message.js";
import { DomainError } from "../../../domain/errors.js";
import { embeddedSize, messageSize } from "../../../domain/message-size.js";
import type { MessageCursor } from "../../../domain/page.js";
import type { HistoryContext } from "../heads.js";
import type { Entry, Range, SessionRecord } from "../log-store.js";
import { positionOf, segmentLength, totalLength } from "../segments.js";
import { locate, missing } from "./lookup.js";
import { messageIn, type Piece, slicePieces } from "./pieces.js";

/** A message of a window, and where it is stored. */
export interface WindowItem {
  readonly message: ChatMessage;
  readonly entry: Entry;
  readonly piece: Piece;
}

/** Consecutive messages of a list. */
export interface Window {
  readonly items: readonly WindowItem[];
  /** Whether the list continues after it. */
  readonly hasMore: boolean;
}

export interface WindowOptions {
  readonly newestFirst: boolean;
  readonly cursor?: MessageCursor | undefined;
  readonly offset: number;
  readonly limit: number;
  /** The newest messages of the session, if they were read along with its record; for a window at the end. */
  readonly newest?: Range | undefined;
}

/** Reads windows of lists: consecutive messages up to a number and a size. Every method may throw `Again`. */
export class WindowReader {
  readonly #context: HistoryContext;

  constructor(context: HistoryContext) {
    this.#context = context;
  }

  /** Reads the messages of a list that follow a cursor or an offset. */
  async window(
    record: SessionRecord,
    pieces: readonly Piece[],
    { newestFirst, cursor, offset, limit, newest }: WindowOptions,
    call?: Call,
  ): Promise<Window> {
    const index = cursor ? await this.#indexOf(record, pieces, cursor, call) : null;
    if (!newestFirst) {
      const from = index === null ? offset : index + 1;
      return this.read(record, slicePieces(pieces, from, from + limit + 1), limit, call);
    }
    const to = Math.max(index ?? totalLength(pieces) - offset, 0);
    const from = Math.max(to - limit, 0);
    const { items, hasMore } = await this.#readBackwards(slicePieces(pieces, from, to), limit, newest, call);
    return { items, hasMore: hasMore || (from > 0 && items.length > 0) };
  }

  /** Reads pieces from the front, up to `limit` messages and the limit of bytes. */
  async read(record: SessionRecord, pieces: readonly Piece[], limit: number, call?: Call): Promise<Window> {
    const page = new Page(limit, this.#context.options.limits.pageBytes);
    for (const piece of pieces) {
      const wanted = Math.min(segmentLength(piece), page.room + 1);
      const last = piece.first + wanted - 1;
      const options = { limit: wanted, maxBytes: page.bytesLeft };
      const range = await this.#context.store.readRange(piece.log, piece.first, last, options, call);
      if (!piece.isOpen) checkComplete(range, piece.log, piece.first, wanted);
      else if (range.entries.length === 0) await this.#context.checkCurrent(record, call);
      const isFull = range.entries.length === wanted;
      // A piece with a known end never ends inside a batch, so only the open log has to be checked.
      const entries = piece.isOpen ? await this.#wholeBatches(record, range, isFull, call) : range.entries;
      if (!page.add(piece, entries)) return page.window(true);
      if (range.cut && (await this.#follows(record, piece, range, last, call))) return page.window(true);
    }
    return page.window(false);
  }

  /** Whether the batch of a message is stored completely, so that the message is visible. */
  async isWhole(record: SessionRecord, entry: Entry, call?: Call): Promise<boolean> {
    // Rule: whole-batches-only.
    if (entry.remaining === 0 || entry.log !== record.log) return true;
    const end = entry.seq + entry.remaining;
    const head = this.#context.cached(record.sessionId);
    if (head?.record.log === record.log && head.seq >= end) return true;
    const { entries } = await this.#context.store.readRange(record.log, end, end, {}, call);
    return entries.length === 1;
  }

  /** Reads pieces from the back. All their messages are known to exist. */
  async #readBackwards(
    pieces: readonly Piece[],
    limit: number,
    newest: Range | undefined,
    call?: Call,
  ): Promise<Window> {
    const page = new Page(limit, this.#context.options.limits.pageBytes);
    let used = 0;
    for (const piece of pieces.toReversed()) {
      const wanted = segmentLength(piece);
      // What was read along with the record holds the session's own messages.
      const known =
        newest && piece.ancestor === undefined
          ? { ...newest, entries: newest.entries.slice(used, used + wanted) }
          : null;
      if (known?.cut && known.entries.length === 0) return page.window(true);
      used += wanted;
      const options = { descending: true, limit: wanted, maxBytes: page.bytesLeft };
      const range = known ?? (await this.#context.store.readRange(piece.log, piece.first, piece.last, options, call));
      checkComplete(range, piece.log, piece.last, wanted, -1);
      if (!page.add(piece, range.entries) || range.entries.length < wanted) return page.window(true);
    }
    return page.window(false);
  }

  /** The index of the cursor's message in the list now. The place in the cursor is tried first, then the id. */
  async #indexOf(record: SessionRecord, pieces: readonly Piece[], cursor: MessageCursor, call?: Call): Promise<number> {
    const before = pieces.findIndex((piece) => piece.ancestor === cursor.ancestor);
    const group = pieces.filter((piece) => piece.ancestor === cursor.ancestor);
    const start = totalLength(pieces.slice(0, Math.max(before, 0)));
    const hinted = positionOf(group, cursor.log, cursor.seq);
    if (hinted >= 0) return start + hinted;
    // Rule: token-by-id.
    const located = (await locate(this.#context, group, [cursor.messageId], call)).get(cursor.messageId);
    if (located) return start + located.position;
    await this.#context.checkCurrent(record, call);
    throw new DomainError(
      "failed_precondition",
      `Message ${JSON.stringify(cursor.messageId)}, after which the page begins, is no longer in this list`,
    );
  }

  /** Whether a piece continues after a read that ended at the limit of bytes. */
  async #follows(record: SessionRecord, piece: Piece, range: Range, last: number, call?: Call): Promise<boolean> {
    const next = piece.first + range.entries.length;
    if (next > last || !piece.isOpen) return next <= last;
    const rest = await this.#context.store.readRange(piece.log, next, next, {}, call);
    return (await this.#wholeBatches(record, rest, true, call)).length > 0;
  }

  /** Drops messages at the end whose batch was incomplete when they were read. */
  async #wholeBatches(
    record: SessionRecord,
    { entries, cut }: Range,
    isFull: boolean,
    call?: Call,
  ): Promise<readonly Entry[]> {
    const last = entries.at(-1);
    // Rule: whole-batches-only.
    if (!last || last.remaining === 0) return entries;
    // Only a batch cut by the page limit can continue after it.
    if ((isFull || cut) && (await this.isWhole(record, last, call))) return entries;
    // The rest is not stored yet, or it was cut off and has been swept.
    await this.#context.checkCurrent(record, call);
    let end = entries.length;
    while (end > 0 && (entries[end - 1] as Entry).remaining > 0) end--;
    return entries.slice(0, end);
  }
}

/** Collects messages up to a number and a size, but at least one. */
class Page {
  readonly #limit: number;
  readonly #maxBytes: number;
  readonly #items: WindowItem[] = [];
  #bytes = 0;

  constructor(limit: number, maxBytes: number) {
    this.#limit = limit;
    this.#maxBytes = maxBytes;
  }

  /** How many more messages fit by number. */
  get room(): number {
    return this.#limit - this.#items.length;
  }

  get bytesLeft(): number {
    return Math.max(this.#maxBytes - this.#bytes, 1);
  }

  /** Adds the entries that fit; returns false when not all of them do. */
  add(piece: Piece, entries: readonly Entry[]): boolean {
    for (const entry of entries) {
      const message = messageIn(piece, entry);
      const bytes = this.#bytes + embeddedSize(messageSize(message, message, entry.body.sizes));
      if (this.room === 0 || (bytes > this.#maxBytes && this.#items.length > 0)) return false;
      this.#bytes = bytes;
      this.#items.push({ message, entry, piece });
    }
    return true;
  }

  window(hasMore: boolean): Window {
    return { items: this.#items, hasMore };
  }
}

/** Throws `Again` when rows of a closed range are missing, because they were swept after the record was read. */
function checkComplete({ entries, cut }: Range, log: string, firstSeq: number, wanted: number, step: 1 | -1 = 1): void {
  if (wanted > 0 && entries[0]?.seq !== firstSeq) throw missing(log, firstSeq);
  if (entries.length < wanted && !cut) throw missing(log, firstSeq + step * entries.length);
}
