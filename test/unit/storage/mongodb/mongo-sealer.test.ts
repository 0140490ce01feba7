import { type Collection, MongoBulkWriteError, ObjectId } from "mongodb";
import { expect, it } from "vitest";
import { type LogDocument, toDocument } from "../../../../src/storage/mongodb/entry-document.js";
import { MongoCommands } from "../../../../src/storage/mongodb/mongo-commands.js";
import { MongoSealer } from "../../../../src/storage/mongodb/mongo-sealer.js";
import { WriteIds } from "../../../../src/storage/mongodb/write-ids.js";
import { entry } from "../../../contract/log-store/fixtures.js";

/** A log in memory. Before each command of the sealer, a writer appends `perCommand` messages while places are free. */
class BusyLog {
  readonly places = new Map<number, LogDocument>();
  readonly #perCommand: () => number;
  #next = 1;

  constructor(perCommand: () => number) {
    this.#perCommand = perCommand;
  }

  get length(): number {
    return this.#next - 1;
  }

  get collection(): Collection<LogDocument> {
    return { find: this.#find.bind(this), insertMany: this.#insertMany.bind(this) } as never;
  }

  append(count: number): void {
    for (let left = count; left > 0 && !this.places.has(this.#next); left--) {
      this.places.set(this.#next, toDocument(new ObjectId(), "u.1", this.#next, entry("u.1", this.#next)));
      this.#next++;
    }
  }

  #find({ seq }: { seq: { $gte: number; $lt: number } }, { limit }: { limit: number }) {
    this.append(this.#perCommand());
    const found = [...this.places.values()].filter((one) => one.seq >= seq.$gte && one.seq < seq.$lt);
    const top = found.sort((a, b) => b.seq - a.seq).slice(0, limit);
    return { sort: () => ({ toArray: async () => top }) };
  }

  async #insertMany(seals: readonly LogDocument[]): Promise<void> {
    this.append(this.#perCommand());
    const refused = seals.flatMap((seal, index) => {
      if (this.places.has(seal.seq)) return [{ index, code: 11000, errmsg: "E11000 index: log_seq dup key" }];
      this.places.set(seal.seq, seal);
      return [];
    });
    if (refused.length === 0) return;
    throw new MongoBulkWriteError({ message: "E11000", code: 11000, writeErrors: refused } as never, {} as never);
  }
}

// The writer is faster than any block of seals, so a sealer that only fills upwards would never catch up.
it.each([1, 10, 1000, 5000])(
  "a sealer wins against a writer that appends %i messages between any two of its commands",
  async (count) => {
    const log = new BusyLog(() => count);
    const sealer = new MongoSealer(log.collection, new MongoCommands(10_000), new WriteIds());
    const sealed = await sealer.seal("u.1", undefined, { deadlineMs: Date.now() + 600_000 });
    expect(sealed).toBe(log.length);
    expect(log.places.get(sealed + 1)).toMatchObject({ seal: true });
    for (let seq = 1; seq <= sealed; seq++) expect(log.places.get(seq)?.seal).toBeUndefined();
  },
);

it("a sealer completes the seal of another one that died after it had put up a wall", async () => {
  const log = new BusyLog(() => 0);
  log.append(3);
  log.places.set(500, { _id: new ObjectId(), log: "u.1", seq: 500, id: "\u0000wall", seal: true });
  const sealer = new MongoSealer(log.collection, new MongoCommands(10_000), new WriteIds());
  expect(await sealer.seal("u.1", undefined)).toBe(3);
  expect(log.places.get(4)).toMatchObject({ seal: true });
  expect(await sealer.seal("u.1", undefined)).toBe(3);
});
