import type { Collection, FindCursor, Long } from "mongodb";
import type { Call } from "../../domain/call.js";
import type { Entry, Range, RangeOptions, Segment, Tail } from "../history/log-store.js";
import type { PieceDocument } from "./attachment-document.js";
import { int64, isMessage, type LogDocument, MAX_SEQ, toEntry } from "./entry-document.js";
import { readLogEnd, tailOf } from "./log-end.js";
import type { MongoCollections } from "./mongo-collections.js";
import type { MongoCommands } from "./mongo-commands.js";
import { KEY_LOG_ID, KEY_SESSION_TIME } from "./mongo-indexes.js";
import { readRawDocument } from "./raw-document.js";

const MOST_IN_BATCH = 10_000;
/** How many documents of a batch are decoded before their total size is checked. */
const DECODED_AT_ONCE = 100;

/** Reads of logs. Every range has both bounds and is read in a single batch. */
export class MongoLogReads {
  readonly #messages: Collection<LogDocument>;
  readonly #pieces: Collection<PieceDocument>;
  readonly #commands: MongoCommands;
  readonly #fields: { readonly projection?: { readonly words: 0; readonly terms: 0 } };

  /** `withWords`: documents may hold the words of their messages, which no reader wants. */
  constructor(
    { messages, pieces }: Pick<MongoCollections, "messages" | "pieces">,
    commands: MongoCommands,
    { withWords }: { withWords: boolean },
  ) {
    this.#fields = withWords ? { projection: { words: 0, terms: 0 } } : {};
    this.#messages = messages;
    this.#pieces = pieces;
    this.#commands = commands;
  }

  async tail(log: string, call?: Call): Promise<Tail> {
    return tailOf(await readLogEnd(this.#messages, this.#commands, log, call));
  }

  /**
   * Reads the ends of all logs at once. Each end is a look-up of its own, and as many run in parallel as there are
   * connections.
   */
  readLast(logs: readonly string[], call?: Call): Promise<readonly (Entry | null)[]> {
    return Promise.all(logs.map((log) => this.#last(log, call)));
  }

  /** Measures all ranges at once, as `readLast` reads. */
  async entryBytes(ranges: readonly Segment[], call?: Call): Promise<number> {
    const sizes = await Promise.all(ranges.map((range) => this.#bytesOf(range, call)));
    return sizes.reduce((sum, bytes) => sum + bytes, 0);
  }

  async #bytesOf({ log, first, last }: Segment, call?: Call): Promise<number> {
    const match = { log, seq: { $gte: first, $lt: Math.min(last, MAX_SEQ) + 1 } };
    const sumOf = async (collection: Pick<Collection, "aggregate">, size: unknown) => {
      const group = { _id: null, bytes: { $sum: size } };
      const [found] = await this.#commands.read(call, (limits) =>
        collection.aggregate<{ bytes: Long | number }>([{ $match: match }, { $group: group }], limits).toArray(),
      );
      return Number(found?.bytes ?? 0);
    };
    // Seals have no body.
    const body = { $strLenBytes: { $ifNull: ["$body", ""] } };
    const sums = await Promise.all([sumOf(this.#messages, body), sumOf(this.#pieces, "$size")]);
    return sums[0] + sums[1];
  }

  async #last(log: string, call?: Call): Promise<Entry | null> {
    const [top] = await this.#commands.read(call, (limits) =>
      this.#messages
        .find({ log, seq: { $gte: 1, $lte: MAX_SEQ } }, { ...limits, ...this.#fields, limit: 1, batchSize: 2 })
        .sort({ seq: -1 })
        .toArray(),
    );
    // Below a message there are no gaps, so more than one look is needed only when a seal or an unfinished batch is on
    // top.
    if (top === undefined) return null;
    if (isMessage(top) && !top.owed) return toEntry(top);
    const { last } = await this.tail(log, call);
    if (last === null) return null;
    const { entries } = await this.readRange(log, last.seq, last.seq, {}, call);
    return entries[0] ?? null;
  }

  async readRange(log: string, first: number, last: number, options: RangeOptions, call?: Call): Promise<Range> {
    const step = options.descending ? -1 : 1;
    const places = Math.min(last - first + 1, options.limit ?? Number.POSITIVE_INFINITY);
    if (places <= 0) return { entries: [], cut: false };
    // Messages are contiguous, so a limit can be expressed as a range.
    const [from, to] = options.descending ? [last - places + 1, last] : [first, first + places - 1];
    return this.#commands.read(call, async (limits) => {
      const cursor = this.#messages
        .find(
          { log, seq: { $gte: from, $lte: to } },
          { ...limits, ...this.#fields, raw: true, batchSize: Math.min(places + 1, MOST_IN_BATCH) },
        )
        .sort({ seq: step }) as unknown as FindCursor<Uint8Array>;
      return takeContiguous(cursor, options.descending ? last : first, step, options.maxBytes);
    });
  }

  async seqAtTime(log: string, first: number, last: number, micros: number, call?: Call): Promise<number | null> {
    if (first > last) return last + 1;
    const bounds = await this.#commands.read(call, (limits) =>
      this.#messages
        .find(
          { log, seq: { $in: [first, last] } },
          { ...limits, projection: { _id: 0, seq: 1, session_id: 1, timestamp: 1 }, batchSize: 3 },
        )
        .toArray(),
    );
    const [start, end] = [first, last].map((seq) => bounds.find((document) => document.seq === seq));
    if (!isMessage(start) || !isMessage(end)) return null;
    if (micros > Number(end.timestamp)) return last + 1;
    if (micros <= Number(start.timestamp)) return first;
    const [found] = await this.#commands.read(call, (limits) =>
      this.#messages
        .find(
          {
            session_id: start.session_id,
            timestamp: { $gte: int64(micros), $lte: int64(Number(end.timestamp)) },
            log,
            seq: { $gte: first, $lte: last },
          },
          { ...limits, projection: { _id: 0, seq: 1 }, limit: 1, batchSize: 2, hint: KEY_SESSION_TIME },
        )
        .sort({ timestamp: 1, seq: 1 })
        .toArray(),
    );
    return found?.seq ?? null;
  }

  async findById(logs: readonly string[], ids: readonly string[], call?: Call): Promise<readonly Entry[]> {
    if (logs.length === 0 || ids.length === 0) return [];
    const [log] = logs;
    const id = ids.length === 1 ? (ids[0] as string) : { $in: [...new Set(ids)] };
    const found = await this.#commands.read(call, (limits) => {
      const options = { ...limits, ...this.#fields, batchSize: MOST_IN_BATCH };
      return logs.length === 1
        ? this.#messages.find({ log: log as string, id }, options).toArray()
        : this.#messages.find({ log: { $in: [...new Set(logs)] }, id }, { ...options, hint: KEY_LOG_ID }).toArray();
    });
    return found.filter(isMessage).map(toEntry);
  }
}

async function takeContiguous(
  cursor: FindCursor<Uint8Array>,
  start: number,
  step: 1 | -1,
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<Range> {
  const entries: Entry[] = [];
  let bytes = 0;
  try {
    while (await cursor.hasNext()) {
      // A promise for each document would cost more than the document.
      for (const document of cursor.readBufferedDocuments(DECODED_AT_ONCE)) {
        const { seq, entry } = readRawDocument(document);
        if (entry === null || seq !== start + step * entries.length) return { entries, cut: false };
        if (bytes >= maxBytes) return { entries, cut: true };
        entries.push(entry);
        bytes += document.length;
      }
    }
    return { entries, cut: false };
  } finally {
    await cursor.close();
  }
}
