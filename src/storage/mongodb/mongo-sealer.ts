import { type Collection, MongoBulkWriteError } from "mongodb";
import { type Call, checkCall } from "../../domain/call.js";
import { DomainError } from "../../domain/errors.js";
import { type LogDocument, sealDocument } from "./entry-document.js";
import { type LogEnd, readLogEnd } from "./log-end.js";
import type { MongoCommands } from "./mongo-commands.js";
import { duplicateKey } from "./mongo-errors.js";
import type { WriteIds } from "./write-ids.js";

/**
 * How far a wall is from the last message: `WALL_FACTOR` times the number of messages that were appended since the end
 * was last read, but at least `WALL_PLACES` places.
 */
const WALL_FACTOR = 8;
const WALL_PLACES = 64;
const FIRST_BLOCK = 16;
const MOST_BLOCK = 1024;

/**
 * Puts a seal into the place after the last message. If appenders are faster, it first puts a single seal far ahead, a
 * wall, beyond which they cannot append. Then it puts growing blocks of seals after the last message, until the first
 * place of a block is free. A place that holds a message or a seal never changes, and messages stay contiguous.
 */
export class MongoSealer {
  readonly #messages: Collection<LogDocument>;
  readonly #commands: MongoCommands;
  readonly #ids: WriteIds;

  constructor(messages: Collection<LogDocument>, commands: MongoCommands, ids: WriteIds) {
    this.#messages = messages;
    this.#commands = commands;
    this.#ids = ids;
  }

  /**
   * Resolves to the number of messages up to the end of the last complete batch. Safe to repeat, because every attempt
   * begins with what is there.
   */
  seal(log: string, lastSeq: number | undefined, call?: Call): Promise<number> {
    return this.#commands.settle(call, async (isRepeat) => {
      if (lastSeq !== undefined && !isRepeat && (await this.#place(log, lastSeq + 1, 1, call))) return lastSeq;
      return this.#sealFromEnd(log, call);
    });
  }

  async #sealFromEnd(log: string, call?: Call): Promise<number> {
    let end = await this.#readEnd(log, call);
    if (end.isSealed || (await this.#place(log, end.stored + 1, 1, call))) return wholeMessages(end);
    for (let block = FIRST_BLOCK; ; block = Math.min(block * 2, MOST_BLOCK)) {
      checkCall(call);
      const before = end.stored;
      end = await this.#readEnd(log, call);
      if (end.isSealed) return wholeMessages(end);
      if (!end.isWalled) await this.#placeWall(log, end, before, call);
      if (await this.#place(log, end.stored + 1, block, call)) return wholeMessages(end);
    }
  }

  async #placeWall(log: string, end: LogEnd, before: number, call?: Call): Promise<void> {
    const ahead = Math.max(WALL_PLACES, WALL_FACTOR * (end.stored - before));
    await this.#place(log, end.stored + ahead, 1, call);
  }

  /** Puts seals into those of `count` places that are free. Resolves to whether the first one was free. */
  async #place(log: string, seq: number, count: number, call?: Call): Promise<boolean> {
    const seals = Array.from({ length: count }, (_, i) => sealDocument(this.#ids.next(), log, seq + i));
    try {
      await this.#commands.write(call, (limits) => this.#messages.insertMany(seals, { ...limits, ordered: false }));
      return true;
    } catch (error) {
      if (!duplicateKey(error)) throw error;
      return !refusedPlaces(error).has(0);
    }
  }

  #readEnd(log: string, call?: Call): Promise<LogEnd> {
    return readLogEnd(this.#messages, this.#commands, log, call);
  }
}

function wholeMessages(end: LogEnd): number {
  return end.whole?.seq ?? 0;
}

function refusedPlaces(error: unknown): ReadonlySet<number> {
  const cause = error instanceof DomainError ? error.cause : error;
  if (!(cause instanceof MongoBulkWriteError)) return new Set([0]);
  return new Set([cause.writeErrors].flat().map(({ index }) => index));
}
