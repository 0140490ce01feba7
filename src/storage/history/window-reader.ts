import type { Call } from "../../domain/call.js";
import type { ChatMessage } from "../../domain/chat-message.js";
import { DomainError } from "../../domain/errors.js";
import { embeddedSize, messageSize } from "../../domain/message-size.js";
import type { MessageCursor } from "../../domain/page.js";
import { Again, type HistoryContext } from "./heads.js";
import type { Entry, Range, SessionRecord } from "./log-store.js";
import { locate } from "./lookup.js";
import { type Piece, shownIn, slicePieces } from "./pieces.js";
import { positionOf, segmentLength, totalLength } from "./segments.js";

/** One message of a window, and where it is stored. */
export interface Shown {
  readonly message: ChatMessage;
  readonly entry: Entry;
  readonly piece: Piece;
}

/** Messages of a list that stand together. */
export interface Window {
  readonly shown: readonly Shown[];
  /** Whether more of the list follows. */
  readonly hasMore: boolean;
}

export interface WindowOptions {
  readonly newestFirst: boolean;
  readonly cursor?: MessageCursor | undefined;
  readonly offset: number;
  readonly limit: number;
}

/** Reads windows of lists: some messages, up to the limit of bytes. Every method may throw `Again`. */
export class WindowReader {
  readonly #context: HistoryContext;

  constructor(context: HistoryContext) {
    this.#context = context;
  }

  /** What follows a cursor, or an offset, in a list. */
  async window(
    record: SessionRecord,
    pieces: readonly Piece[],
    { newestFirst, cursor, offset, limit }: WindowOptions,
    call?: Call,
  ): Promise<Window> {
    const place = cursor ? await this.#placeOf(pieces, cursor, call) : null;
    if (!newestFirst) {
      const from = place === null ? offset : place + 1;
      return this.read(record, slicePieces(pieces, from, from + limit + 1), limit, call);
    }
    const to = Math.max(place ?? totalLength(pieces) - offset, 0);
    const from = Math.max(to - limit, 0);
    const { shown, hasMore } = await this.#readBackwards(slicePieces(pieces, from, to), limit, call);
    return { shown, hasMore: hasMore || (from > 0 && shown.length > 0) };
  }

  /** Pieces from the front, up to `limit` messages and the limit of bytes. */
  async read(record: SessionRecord, pieces: readonly Piece[], limit: number, call?: Call): Promise<Window> {
    const page = new Page(limit, this.#context.options.limits.pageBytes);
    for (const piece of pieces) {
      const wanted = Math.min(segmentLength(piece), page.room + 1);
      const last = piece.first + wanted - 1;
      const options = { limit: wanted, maxBytes: page.bytesLeft };
      const range = await this.#context.store.readRange(piece.log, piece.first, last, options, call);
      if (!piece.isOpen) checkComplete(range, piece.first, wanted);
      const isOwnLog = piece.log === record.log && piece.ancestor === undefined;
      const isFull = range.entries.length === wanted;
      const entries = isOwnLog ? await this.#wholeBatches(record, range, isFull, call) : range.entries;
      if (!page.add(piece, entries)) return page.window(true);
      if (range.cut && (await this.#follows(record, piece, range, last, call))) return page.window(true);
    }
    return page.window(false);
  }

  /** Whether a message is visible as far as its batch goes: the last of it is there too. */
  async isWhole(record: SessionRecord, entry: Entry, call?: Call): Promise<boolean> {
    if (entry.owed === 0 || entry.log !== record.log || !this.#context.keeps("whole-batches-only")) return true;
    const end = entry.seq + entry.owed;
    const head = this.#context.cached(record.sessionId);
    if (head?.record.log === record.log && head.seq >= end) return true;
    const { entries } = await this.#context.store.readRange(record.log, end, end, {}, call);
    return entries.length === 1;
  }

  /** Pieces from the back; all of them are known to be there. */
  async #readBackwards(pieces: readonly Piece[], limit: number, call?: Call): Promise<Window> {
    const page = new Page(limit, this.#context.options.limits.pageBytes);
    for (const piece of pieces.toReversed()) {
      const wanted = segmentLength(piece);
      const options = { descending: true, limit: wanted, maxBytes: page.bytesLeft };
      const range = await this.#context.store.readRange(piece.log, piece.first, piece.last, options, call);
      checkComplete(range, piece.last, wanted);
      if (!page.add(piece, range.entries) || range.entries.length < wanted) return page.window(true);
    }
    return page.window(false);
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

  /** After the limit of bytes ended a read: whether more of the piece is there. */
  async #follows(record: SessionRecord, piece: Piece, range: Range, last: number, call?: Call): Promise<boolean> {
    const next = piece.first + range.entries.length;
    if (next > last || !piece.isOpen) return next <= last;
    const behind = await this.#context.store.readRange(piece.log, next, next, {}, call);
    return (await this.#wholeBatches(record, behind, true, call)).length > 0;
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
    if ((isFull || cut) && (await this.isWhole(record, last, call))) return entries;
    if (!this.#context.keeps("whole-batches-only")) return entries;
    let end = entries.length;
    while (end > 0 && (entries[end - 1] as Entry).owed > 0) end--;
    return entries.slice(0, end);
  }
}

/** Collects messages up to a number and a size, but one at least. */
class Page {
  readonly #limit: number;
  readonly #maxBytes: number;
  readonly #shown: Shown[] = [];
  #bytes = 0;

  constructor(limit: number, maxBytes: number) {
    this.#limit = limit;
    this.#maxBytes = maxBytes;
  }

  /** Messages that still fit by number. */
  get room(): number {
    return this.#limit - this.#shown.length;
  }

  get bytesLeft(): number {
    return Math.max(this.#maxBytes - this.#bytes, 1);
  }

  /** false: not all of them fit. */
  add(piece: Piece, entries: readonly Entry[]): boolean {
    for (const entry of entries) {
      const message = shownIn(piece, entry);
      const bytes = this.#bytes + embeddedSize(messageSize(message, message));
      if (this.room === 0 || (bytes > this.#maxBytes && this.#shown.length > 0)) return false;
      this.#bytes = bytes;
      this.#shown.push({ message, entry, piece });
    }
    return true;
  }

  window(hasMore: boolean): Window {
    return { shown: this.#shown, hasMore };
  }
}

/** `Again` when rows of a closed range are missing: they were swept since the record was read. */
function checkComplete(range: Range, firstSeq: number, wanted: number): void {
  const { entries, cut } = range;
  if (entries.length > 0 ? entries[0]?.seq !== firstSeq : wanted > 0) throw new Again();
  if (entries.length < wanted && !cut) throw new Again();
}
