import type { Collection } from "mongodb";
import type { Call } from "../../domain/call.js";
import type { Entry } from "../history/log-store.js";
import { type LogDocument, type MessageDocument, toDocument } from "./entry-document.js";
import type { MongoCommands } from "./mongo-commands.js";
import { duplicateKey } from "./mongo-errors.js";
import { KEY_LOG_ID, KEY_LOG_SEQ } from "./mongo-indexes.js";
import type { SafeReads } from "./safe-reads.js";
import type { WriteIds } from "./write-ids.js";

type TermsOf = (entry: Entry) => readonly string[];

/** Writes entries in order, and finds out the outcome of a write whose answer was lost. */
export class MongoAppender {
  readonly #messages: Collection<LogDocument>;
  readonly #commands: MongoCommands;
  readonly #ids: WriteIds;
  readonly #safeReads: SafeReads;
  readonly #termsOf: TermsOf | undefined;

  /** With `termsOf`, documents get the words by which searches find them. */
  constructor(
    messages: Collection<LogDocument>,
    commands: MongoCommands,
    ids: WriteIds,
    safeReads: SafeReads,
    termsOf?: TermsOf,
  ) {
    this.#messages = messages;
    this.#commands = commands;
    this.#ids = ids;
    this.#safeReads = safeReads;
    this.#termsOf = termsOf;
  }

  async append(log: string, seq: number, entries: readonly Entry[], call?: Call): Promise<number | "idTaken"> {
    if (entries.length === 0) return 0;
    const documents = entries.map((entry, i) => this.#document(log, seq + i, entry));
    return this.#commands.settle(call, (isRepeat) =>
      isRepeat ? this.#resume(documents, call) : this.#send(documents, call),
    );
  }

  #document(log: string, seq: number, entry: Entry): MessageDocument {
    const document = toDocument(this.#ids.next(), log, seq, entry);
    return this.#termsOf ? { ...document, terms: this.#termsOf(entry) } : document;
  }

  async #send(documents: readonly MessageDocument[], call?: Call): Promise<number | "idTaken"> {
    try {
      await this.#insert(documents, call);
      return documents.length;
    } catch (error) {
      const duplicate = duplicateKey(error);
      if (!duplicate) throw error;
      if (duplicate.at > 0) return duplicate.at;
      return (await this.#isPlaceTaken(duplicate.key, documents, call)) ? 0 : "idTaken";
    }
  }

  /**
   * Whether the first document was refused because its place is taken, not its id. Not every server names the index.
   */
  async #isPlaceTaken(key: string, documents: readonly MessageDocument[], call?: Call): Promise<boolean> {
    if (key === KEY_LOG_SEQ || key === KEY_LOG_ID) return key === KEY_LOG_SEQ;
    return (await this.#readBack(documents, call)).isTaken;
  }

  /**
   * Sends those documents again that are not stored yet. The outcome of the first send is unknown; it may still arrive.
   */
  async #resume(documents: readonly MessageDocument[], call?: Call): Promise<number | "idTaken"> {
    let found = await this.#readBack(documents, call);
    while (found.stored < documents.length && !found.isTaken) {
      const { stored } = found;
      try {
        await this.#insert(documents.slice(stored), call);
        return documents.length;
      } catch (error) {
        const duplicate = duplicateKey(error);
        if (!duplicate) throw error;
        found = await this.#readBack(documents, call);
        const isOurOwn = found.stored > stored + duplicate.at;
        if (!isOurOwn && !found.isTaken && found.stored < documents.length) {
          return found.stored === 0 ? "idTaken" : found.stored;
        }
      }
    }
    return found.stored;
  }

  /**
   * How many of the documents, from the first on, are at their places, and whether another writer's document is at the
   * next one.
   */
  async #readBack(
    documents: readonly MessageDocument[],
    call?: Call,
  ): Promise<{ readonly stored: number; readonly isTaken: boolean }> {
    const { log, seq: first } = documents[0] as MessageDocument;
    const found = await this.#commands.read(call, (limits) =>
      this.#messages
        .find(
          { log, seq: { $gte: first, $lte: first + documents.length - 1 } },
          { ...limits, ...this.#safeReads.options, projection: { seq: 1 }, batchSize: documents.length + 1 },
        )
        .sort({ seq: 1 })
        .toArray(),
    );
    const standing = new Map(found.map(({ seq, _id }) => [seq, _id]));
    const theirs = documents.findIndex(({ seq, _id }) => !standing.get(seq)?.equals(_id));
    if (theirs < 0) return { stored: documents.length, isTaken: false };
    return { stored: theirs, isTaken: standing.has(first + theirs) };
  }

  #insert(documents: readonly MessageDocument[], call?: Call): Promise<unknown> {
    const [only] = documents;
    return this.#commands.write<unknown>(call, (limits) =>
      documents.length === 1
        ? this.#messages.insertOne(only as MessageDocument, limits)
        : this.#messages.insertMany(documents, { ...limits, ordered: true }),
    );
  }
}
