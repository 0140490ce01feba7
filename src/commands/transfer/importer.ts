import { RangeMap } from "../../domain/range-map.js";
import type {
  NumberRange,
  RestoredImage,
  SessionImage,
  SharedRange,
  WrittenRange,
} from "../../domain/session-image.js";
import type { StorageManager } from "../../storage/storage-manager.js";
import { adopt } from "./adopt.js";
import { type BackupFile, readNumbers } from "./backup-file.js";
import type { LineSource } from "./lines.js";

/** How many sessions are written at the same time. */
const AT_ONCE = 64;

export interface ImportReport {
  readonly imported: number;
  /** Sessions that were left alone, because their ids existed already. */
  readonly existing: number;
}

/** Stores the sessions of a file. */
export class Importer {
  readonly #storage: StorageManager;
  readonly #source: LineSource;
  readonly #file: BackupFile;
  readonly #onSession: () => void;
  /** Where messages are stored that later sessions name. */
  readonly #places = new RangeMap<SharedRange>();
  /** Sessions being written whose messages later sessions name. */
  readonly #underWay = new Map<number, Promise<void>>();
  #next = 0;
  #imported = 0;
  #existing = 0;

  constructor(storage: StorageManager, source: LineSource, file: BackupFile, onSession: () => void) {
    this.#storage = storage;
    this.#source = source;
    this.#file = file;
    this.#onSession = onSession;
  }

  async run(): Promise<ImportReport> {
    const workers = Array.from({ length: AT_ONCE }, () => this.#work());
    // All workers have ended before the store is closed, even if the first one failed.
    const failed = (await Promise.allSettled(workers)).find((outcome) => outcome.status === "rejected");
    if (failed) throw failed.reason;
    return { imported: this.#imported, existing: this.#existing };
  }

  async #work(): Promise<void> {
    const { index } = this.#file;
    while (this.#next < index.sessionCount) {
      const session = this.#next++;
      const done = this.#importSession(session);
      if (index.isNamedLater(session)) this.#underWay.set(session, done);
      try {
        await done;
      } catch (error) {
        this.#next = index.sessionCount;
        throw error;
      }
      this.#underWay.delete(session);
      this.#onSession();
    }
  }

  async #importSession(session: number): Promise<void> {
    const { index } = this.#file;
    const image = await this.#file.session(session);
    await this.#waitForOwners(session, image);
    const read = (range: NumberRange) => readNumbers(this.#source, index, range);
    let outcome = await this.#storage.restoreSession(this.#shared(image), read);
    // Somebody has deleted or truncated a session that was to be shared, but the file has its messages, too.
    if (outcome.kind === "unshared") outcome = await this.#storage.restoreSession(image, read);
    if (outcome.kind === "restored") this.#imported += 1;
    else this.#existing += 1;
    if (outcome.kind === "restored") this.#note(session, outcome.written);
    else if (index.isNamedLater(session)) this.#note(session, await adopt(this.#storage, image, read));
  }

  /** Sessions whose messages this one names come before it, so this cannot deadlock. */
  async #waitForOwners(session: number, image: SessionImage<NumberRange>): Promise<void> {
    const { index } = this.#file;
    const lists = [...image.ancestry.map(({ ranges }) => ranges), image.messages, image.undo ?? []];
    for (const { first, last } of lists.flat()) {
      for (const [owner, done] of this.#underWay) {
        const numbers = index.numbersOf(owner);
        if (owner !== session && numbers.first <= last && first <= numbers.last) await done;
      }
    }
  }

  /** The image with ranges that are stored already in place of numbers. */
  #shared(image: SessionImage<NumberRange>): RestoredImage {
    const shared = (ranges: readonly NumberRange[]) =>
      ranges.flatMap(({ first, last }) =>
        this.#places.parts(first, last).map((part): SharedRange | NumberRange => {
          if (part.known === undefined) return { first: part.first, last: part.last };
          const { value, offset } = part.known;
          const start = value.first + offset;
          return { log: value.log, ownerId: value.ownerId, first: start, last: start + part.last - part.first };
        }),
      );
    return {
      ...image,
      ancestry: image.ancestry.map(({ sessionId, ranges }) => ({ sessionId, ranges: shared(ranges) })),
      messages: shared(image.messages),
      undo: image.undo && shared(image.undo),
    };
  }

  #note(session: number, written: readonly WrittenRange[]): void {
    const own = this.#file.index.numbersOf(session);
    for (const { first, last, place } of written) {
      // Messages of another session were copied, and others may name them too.
      const isCopy = first < own.first || last > own.last;
      if (!isCopy && !this.#file.index.isNamedLater(session)) continue;
      for (const part of this.#places.parts(first, last)) {
        if (part.known) continue;
        const start = place.first + part.first - first;
        this.#places.add(part.first, part.last, { ...place, first: start, last: start + part.last - part.first });
      }
    }
  }
}
