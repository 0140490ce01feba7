import type { Collection, Db } from "mongodb";
import type { Call } from "../../domain/call.js";
import type { Register, RegisterTable } from "../history/log-store.js";
import { collectionsOf, type RegisterDocument } from "./mongo-collections.js";
import type { MongoCommands } from "./mongo-commands.js";
import { duplicateKey } from "./mongo-errors.js";
import type { SafeReads } from "./safe-reads.js";

export class MongoRegisters implements RegisterTable {
  readonly #registers: Collection<RegisterDocument>;
  readonly #commands: MongoCommands;
  readonly #safeReads: SafeReads;

  constructor(db: Db, commands: MongoCommands, safeReads: SafeReads) {
    this.#registers = collectionsOf(db).registers;
    this.#commands = commands;
    this.#safeReads = safeReads;
  }

  async read(name: string, call?: Call): Promise<Register | null> {
    const found = await this.#commands.read(call, (limits) =>
      this.#registers.findOne({ _id: name }, { ...limits, ...this.#safeReads.options }),
    );
    return found && { text: found.text, revision: found.revision };
  }

  async replace(name: string, text: string, ifRevision: number, call?: Call): Promise<boolean> {
    if (ifRevision === 0) return this.#insert({ _id: name, revision: 1, text }, call);
    const { matchedCount } = await this.#commands.writeOnce(call, (limits) =>
      this.#registers.replaceOne({ _id: name, revision: ifRevision }, { revision: ifRevision + 1, text }, limits),
    );
    return matchedCount === 1;
  }

  async #insert(register: RegisterDocument, call: Call | undefined): Promise<boolean> {
    try {
      await this.#commands.writeOnce(call, (limits) => this.#registers.insertOne(register, limits));
      return true;
    } catch (error) {
      if (duplicateKey(error)) return false;
      throw error;
    }
  }
}
