import type { Db, Document } from "mongodb";
import { MessageBody } from "../../domain/message-body.js";
import type { SearchScope } from "../../domain/search.js";
import { ownerOf } from "../history/record-facts.js";
import type { SearchNotices } from "../history/search-builder.js";
import { SearchIndexer } from "../history/search-indexer.js";
import type { LogDocument } from "./entry-document.js";
import { collectionsOf, type MongoCollections } from "./mongo-collections.js";
import type { MongoCommands } from "./mongo-commands.js";
import { KEY_TERMS } from "./mongo-indexes.js";
import { MARKS, termsField } from "./search-words.js";

/** How much one step reads, so that the event loop stays responsive. */
const STEP_DOCUMENTS = 100;
const STEP_BYTES = 512 * 1024;
const BATCH_DOCUMENTS = 20;

/**
 * Gives words to the documents that have none, or too few: to those from before the index, and to those that other
 * processes store. The index itself finds them, because a missing field is null in it, and the others have a mark.
 * Documents that this process stores have their words from the beginning.
 */
export class MongoSearchIndex {
  readonly #collections: MongoCollections;
  readonly #commands: MongoCommands;
  readonly #scope: SearchScope;
  readonly #indexer: SearchIndexer;

  constructor(db: Db, commands: MongoCommands, scope: SearchScope, notices: SearchNotices) {
    this.#scope = scope;
    this.#collections = collectionsOf(db);
    this.#commands = commands;
    this.#indexer = new SearchIndexer((signal) => this.#indexSome(signal), notices);
  }

  /** As in SearchIndexer. */
  look(): Promise<void> {
    return this.#indexer.look();
  }

  stop(): Promise<void> {
    return this.#indexer.stop();
  }

  async #indexSome(signal: AbortSignal): Promise<number> {
    let lacking: string | null = null;
    let found = await this.#some(lacking, signal);
    if (found.length === 0 && this.#scope === "all") {
      lacking = MARKS.text;
      found = await this.#some(lacking, signal);
    }
    await this.#giveWords(found, lacking);
    return found.length;
  }

  /** Some documents without words, or with this mark. The larger they are, the fewer come at once. */
  #some(lacking: string | null, signal: AbortSignal): Promise<readonly LogDocument[]> {
    return this.#commands.read({ signal }, async (limits) => {
      const cursor = this.#collections.messages.find({ terms: lacking } as never, {
        ...limits,
        ...{ projection: { _id: 0, log: 1, seq: 1, id: 1, body: 1 }, hint: KEY_TERMS },
        ...{ limit: STEP_DOCUMENTS, batchSize: BATCH_DOCUMENTS },
      });
      const documents: LogDocument[] = [];
      let bytes = 0;
      for await (const document of cursor) {
        documents.push(document);
        bytes += document.seal ? 0 : document.body.length;
        if (bytes >= STEP_BYTES) break;
      }
      return documents;
    });
  }

  async #giveWords(documents: readonly LogDocument[], lacking: string | null): Promise<void> {
    if (documents.length === 0) return;
    const namespaces = await this.#namespacesOf(documents);
    const updates = documents.map((document) => {
      const { log, seq, id } = document;
      // This does not overwrite what an erasure has set meanwhile: the words of what it leaves.
      const isSame = lacking === null || document.seal ? {} : { body: document.body };
      const filter = { log, seq, terms: lacking, ...isSame } as Document;
      const body = document.seal ? { parts: [] } : MessageBody.stored(document.body);
      const terms = termsField(namespaces.get(ownerOf(log)) ?? "", { id, body }, this.#scope);
      return { updateOne: { filter, update: { $set: { terms }, $unset: { words: "" } } as Document } };
    });
    await this.#commands.settle(undefined, () =>
      this.#commands.write(undefined, (limits) =>
        this.#collections.messages.bulkWrite(updates as never, { ...limits, ordered: false }),
      ),
    );
  }

  async #namespacesOf(documents: readonly LogDocument[]): Promise<ReadonlyMap<string, string>> {
    const uids = [...new Set(documents.map(({ log }) => ownerOf(log)))];
    const found = await this.#commands.read(undefined, (limits) =>
      this.#collections.sessions
        .find({ _id: { $in: uids } }, { ...limits, projection: { namespace: 1 }, batchSize: uids.length + 1 })
        .toArray(),
    );
    return new Map(found.map(({ _id, namespace }) => [_id, namespace]));
  }
}
