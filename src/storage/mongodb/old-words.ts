import type { Db, Document, Filter, ObjectId } from "mongodb";
import type { Call } from "../../domain/call.js";
import { WORDS_RULE } from "../../domain/search.js";
import type { LogDocument } from "./entry-document.js";
import type { MongoCommands } from "./mongo-commands.js";
import { duplicateKey } from "./mongo-errors.js";
import { collectionsOf, KEY_WORDS, type MongoCollections } from "./mongo-schema.js";

/** How many documents one step goes through. */
const STEP_DOCUMENTS = 100;

/**
 * Takes away the words that were made by an earlier rule, so that their documents are given new ones. The rule is
 * recorded in the database once that is done. Until then every process with `--search` goes through the documents that
 * it found at its start; if it also meets words that are new, they are only made once more.
 */
export class OldWords {
  readonly #collections: MongoCollections;
  readonly #commands: MongoCommands;
  #areGone = false;
  /** The last document that there was at the start; null when there was none with words. */
  #last: ObjectId | null | undefined;
  #after: ObjectId | undefined;

  constructor(db: Db, commands: MongoCommands) {
    this.#collections = collectionsOf(db);
    this.#commands = commands;
  }

  /** Takes away some of them. Resolves to whether none are left. */
  async removeSome(call: Call): Promise<boolean> {
    if (this.#areGone || (await this.#isRecorded(call))) {
      this.#areGone = true;
      return true;
    }
    this.#last ??= await this.#findLast(call);
    const end = this.#last === null ? null : await this.#stepEnd(this.#last, call);
    if (end === null) {
      await this.#record();
      return true;
    }
    const range = { ...this.#range(end), words: { $exists: true } } as Filter<LogDocument>;
    await this.#commands.settle(undefined, () =>
      this.#commands.write(undefined, (limits) =>
        this.#collections.messages.updateMany(range, { $unset: { words: "" } } as Document, limits),
      ),
    );
    this.#after = end;
    return false;
  }

  async #isRecorded(call: Call): Promise<boolean> {
    const found = await this.#commands.read(call, (limits) =>
      this.#collections.schema.findOne({ _id: "words" }, limits),
    );
    return (found?.rule ?? 0) >= WORDS_RULE;
  }

  #findLast(call: Call): Promise<ObjectId | null> {
    const { messages } = this.#collections;
    return this.#commands.read(call, async (limits) => {
      const projection = { _id: 1 };
      const anyWords = { words: { $gte: "" } } as Filter<LogDocument>;
      if ((await messages.findOne(anyWords, { ...limits, projection, hint: KEY_WORDS })) === null) return null;
      const [last] = await messages
        .find({}, { ...limits, projection })
        .sort({ _id: -1 })
        .limit(1)
        .toArray();
      return last?._id ?? null;
    });
  }

  /** The last document of the next step; null when nothing is left up to `last`. */
  async #stepEnd(last: ObjectId, call: Call): Promise<ObjectId | null> {
    const found = await this.#commands.read(call, (limits) =>
      this.#collections.messages
        .find(this.#range(last), { ...limits, projection: { _id: 1 } })
        .sort({ _id: 1 })
        .limit(STEP_DOCUMENTS)
        .toArray(),
    );
    return found.at(-1)?._id ?? null;
  }

  #range(end: ObjectId): Filter<LogDocument> {
    return { _id: { ...(this.#after && { $gt: this.#after }), $lte: end } };
  }

  async #record(): Promise<void> {
    try {
      await this.#commands.settle(undefined, () =>
        this.#commands.write(undefined, (limits) =>
          this.#collections.schema.updateOne(
            { _id: "words" },
            { $max: { rule: WORDS_RULE } },
            { ...limits, upsert: true },
          ),
        ),
      );
    } catch (error) {
      // Another process has recorded it at the same moment.
      if (!duplicateKey(error)) throw error;
    }
    this.#areGone = true;
  }
}
