import { type Call, checkCall } from "../../../domain/call.js";
import type { ChatMessage } from "../../../domain/chat-message.js";
import type { Draft } from "../../../domain/draft.js";
import { DomainError } from "../../../domain/errors.js";
import {
  checkCursor,
  fullQuery,
  type LoadedSession,
  type MessageCursor,
  type MessagePage,
  type MessageQuery,
} from "../../../domain/page.js";
import type { Session } from "../../../domain/session.js";
import type { GetMessagesOptions, ListMessagesOptions, StorageProvider } from "../../storage-provider.js";
import { endMicros, type Head, type HistoryContext } from "../heads.js";
import type { SessionRecord } from "../log-store.js";
import { Again, MissingRows, type Seen } from "../retries.js";
import { totalLength } from "../segments.js";
import { undoAt } from "../undo.js";
import { locate, readInChunks } from "./lookup.js";
import { messageIn, openSegments, piecesOf, slicePieces, toMessage } from "./pieces.js";
import { recordFields } from "./record-fields.js";
import { usageOf } from "./session-usage.js";
import { type Window, WindowReader } from "./window-reader.js";

/** Reads the open drafts that a head shows. */
type ReadDrafts = (head: Head, call?: Call) => Promise<readonly Draft[]>;

/**
 * Reads a record and then ranges of logs that never change, without any lock. A read that took longer than a minute
 * starts over.
 */
export class Reader {
  readonly #context: HistoryContext;
  readonly #windows: WindowReader;
  readonly #readDrafts: ReadDrafts;

  constructor(context: HistoryContext, readDrafts: ReadDrafts) {
    this.#context = context;
    this.#readDrafts = readDrafts;
    this.#windows = new WindowReader(context);
  }

  /** Implements {@link StorageProvider.getMessage}. */
  get(sessionId: string, messageId: string, call?: Call): Promise<ChatMessage | null> {
    return this.#reading(sessionId, call, async (saw) => {
      const record = await this.#context.needRecord(sessionId, call);
      saw(record);
      const visible = openSegments(record);
      const located = (await locate(this.#context, visible, [messageId], call)).get(messageId);
      if (!located || !(await this.#windows.isWhole(record, located.entry, call))) {
        await this.#context.checkCurrent(record, call);
        return null;
      }
      return toMessage(located.entry, sessionId, located.position);
    });
  }

  /** Implements {@link StorageProvider.listMessages}. */
  list(sessionId: string, options: ListMessagesOptions): Promise<MessagePage> {
    const { cursor, limit, offset = 0 } = options;
    const query = fullQuery(options);
    return this.#reading(sessionId, options, async (saw) => {
      const hasTimes = query.sinceMicros !== undefined || query.untilMicros !== undefined;
      const isFromEnd = query.newestFirst && !cursor;
      const { head, newest } =
        isFromEnd && !hasTimes && offset === 0
          ? await this.#context.needNewest(sessionId, limit, options)
          : { head: hasTimes || isFromEnd ? await this.#context.need(sessionId, options) : null, newest: undefined };
      const record = head?.record ?? (await this.#context.needRecord(sessionId, options));
      saw(record);
      if (cursor) checkCursor(cursor, record, query);
      const pieces = await piecesOf(this.#context, record, head, query, options);
      const at = { newestFirst: query.newestFirst ?? false, cursor, offset, limit, newest };
      const window = await this.#windows.window(record, pieces, at, options);
      if (hasTimes && window.items.length === 0) await this.#context.checkCurrent(record, options);
      return this.#page(record, query, window);
    });
  }

  /** Implements {@link StorageProvider.loadSession}. */
  load(
    sessionId: string,
    options: { limit: number; cursor?: MessageCursor | undefined } & Call,
  ): Promise<LoadedSession> {
    const query = fullQuery({ newestFirst: true });
    return this.#reading(sessionId, options, async (saw) => {
      const { cursor, limit } = options;
      const { head, newest } = cursor
        ? { head: await this.#context.need(sessionId, options), newest: undefined }
        : await this.#context.needNewest(sessionId, limit, options);
      saw(head);
      if (cursor) checkCursor(cursor, head.record, query);
      const pieces = await piecesOf(this.#context, head.record, head, query, options);
      const at = { newestFirst: true, cursor, offset: 0, limit, newest };
      const window = await this.#windows.window(head.record, pieces, at, options);
      const page = this.#page(head.record, query, window);
      const drafts = cursor ? undefined : await this.#readDrafts(head, options);
      return {
        session: await this.sessionWithUsage(head, options),
        messages: page.messages.toReversed(),
        next: page.next,
        drafts,
      };
    });
  }

  /** Implements {@link StorageProvider.getSessionMessages}. */
  getAll(sessionId: string, options: GetMessagesOptions): Promise<ChatMessage[]> {
    return this.#reading(sessionId, options, async (saw) => {
      const head = await this.#context.need(sessionId, options);
      saw(head);
      const pieces = await piecesOf(this.#context, head.record, head, fullQuery(options), options);
      const total = totalLength(pieces);
      const { limit = total, offset = Math.max(total - limit, 0) } = options;
      const messages: ChatMessage[] = [];
      for (const piece of slicePieces(pieces, offset, Math.min(offset + limit, total))) {
        for await (const entries of readInChunks(this.#context, [piece], options)) {
          for (const entry of entries) messages.push(messageIn(piece, entry));
        }
      }
      return messages;
    });
  }

  /** Runs a read that begins with the head; see `#reading`. */
  withHead<T>(sessionId: string, call: Call | undefined, read: (head: Head) => Promise<T>): Promise<T> {
    return this.#reading(sessionId, call, async (saw) => {
      const head = await this.#context.need(sessionId, call);
      saw(head);
      return read(head);
    });
  }

  /**
   * The messages at positions `from` to `to - 1` of a head, for a follower. Returns fewer at the limit of bytes, but at
   * least one.
   */
  async messagesAt(head: Head, from: number, to: number, call?: Call): Promise<readonly ChatMessage[]> {
    const pieces = await piecesOf(this.#context, head.record, head, {}, call);
    const { items } = await this.#windows.read(head.record, slicePieces(pieces, from, to), to - from, call);
    return items.map(({ message }) => message);
  }

  /** The session as a head shows it, with the exact update time. The record's update time may lag behind appends. */
  sessionOf(head: Head): Session {
    const { record } = head;
    const appendedMicros = head.seq > 0 ? Math.min(endMicros(head), this.#context.options.nowMicros()) : 0;
    return {
      ...recordFields(record),
      updateTimeMicros: Math.max(record.updateTimeMicros, appendedMicros),
      messageCount: head.count,
      reverted: undoAt(record, head.seq) !== null,
    };
  }

  /** The session as a head shows it, with the sums of usage. */
  async sessionWithUsage(head: Head, call?: Call): Promise<Session> {
    const [usage] = await usageOf(this.#context, [head], call);
    return { ...this.sessionOf(head), ...usage };
  }

  /** Repeats a read when rows were missing, or when it took so long that a sweep may have removed some. */
  #reading<T>(sessionId: string, call: Call | undefined, read: (saw: (seen: Seen) => void) => Promise<T>): Promise<T> {
    return this.#context.retrying(sessionId, call, async (saw) => {
      checkCall(call);
      const atMs = this.#context.knownMs();
      const begunMicros = this.#context.storeMicros();
      let record: SessionRecord | null = null;
      // Rule: late-reader-restarts.
      const isLate = () => this.#context.isOld(atMs);
      try {
        const result = await read((seen) => {
          record = "record" in seen ? seen.record : seen;
          saw(seen);
        });
        if (!isLate()) {
          if (record && this.#tookLong(begunMicros)) await this.#context.checkCurrent(record, call);
          return result;
        }
      } catch (error) {
        if (error instanceof MissingRows && !this.#context.isOld(atMs)) {
          this.#context.options.onAnomaly(
            `Rows of session ${JSON.stringify(sessionId)} were missing: ${error.message}`,
          );
        }
        if (!(error instanceof DomainError) || !isLate()) throw error;
      }
      throw new Again("The read took longer than a record may be acted on");
    });
  }

  /**
   * Whether a read took so long that, meanwhile, an edit may have replaced the open log and a sweep may have removed
   * its last entries: the read would have taken that gap for the end. Only for stores without a clock of their own.
   * Their sweeps go by the wall clock of this machine, which goes on while a process or the machine stands still.
   */
  #tookLong(begunMicros: number): boolean {
    if (this.#context.store.knownTimeMs) return false;
    return this.#context.storeMicros() - begunMicros > this.#context.options.staleMs * 1000;
  }

  #page(record: SessionRecord, query: MessageQuery, { items, hasMore }: Window): MessagePage {
    const messages = items.map(({ message }) => message);
    const last = items.at(-1);
    if (!hasMore || !last) return { messages };
    const { log, seq, id } = last.entry;
    const { ancestor } = last.piece;
    return { messages, next: { sessionUid: record.uid, query, log, seq, messageId: id, ancestor } };
  }
}
