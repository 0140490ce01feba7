import type { AttachmentContent } from "../../domain/attachment.js";
import { DomainError } from "../../domain/errors.js";
import { RangeMap } from "../../domain/range-map.js";
import type {
  BackupAttachment,
  BackupMessage,
  NumberRange,
  RestoredImage,
  SessionImage,
  SharedAttachment,
  SharedRange,
} from "../../domain/session-image.js";
import type { StorageManager } from "../../storage/storage-manager.js";
import { type BackupFile, readNumbers } from "./backup-file.js";
import { findStored, type Stored } from "./find-stored.js";
import { ImportNotes } from "./foreign/import-notes.js";
import type { LineSource } from "./lines.js";

/** How many sessions are written at the same time. */
const AT_ONCE = 64;
/** How many sessions of other programs are written at a time. They are long, so that memory holds few of them. */
const FOREIGN_AT_ONCE = 4;

export interface ImportReport {
  readonly imported: number;
  /** Sessions whose ids existed already. Only those that grew were changed. */
  readonly existing: number;
  /** Existing sessions that got messages of the file. */
  readonly grown: number;
}

/** What an importer may add to sessions that exist. */
type Missing = ReadonlyMap<number, readonly NumberRange[]>;

/** Hears of each session that was dealt with, and of bytes of attachments. */
export interface ImportProgress {
  onSession(): void;
  /** Hears of each session that was stored or got messages. */
  onStored?(sessionId: string): void;
  onBytes(bytes: number): void;
}

/** Stores the sessions of a file. */
export class Importer {
  readonly #storage: StorageManager;
  readonly #source: LineSource;
  readonly #file: BackupFile;
  readonly #progress: ImportProgress;
  /** Where messages are stored that later sessions name. */
  readonly #places = new RangeMap<SharedRange>();
  /** Which session stores messages that other sessions name, too. */
  readonly #writers = new RangeMap<number>();
  /** Where attachments are stored that several messages name, and which sessions store them, by their numbers. */
  readonly #attachments = new Map<number, SharedAttachment>();
  readonly #attachmentWriters = new Map<number, number>();
  readonly #underWay = new Map<number, Promise<void>>();
  #imported = 0;
  #existing = 0;
  #grown = 0;
  readonly #isForeign: boolean;
  readonly #missing: Missing;
  readonly #notes: ImportNotes;

  constructor(
    storage: StorageManager,
    source: LineSource,
    file: BackupFile & { readonly missing?: Missing },
    progress: ImportProgress,
    notes = new ImportNotes(),
  ) {
    this.#notes = notes;
    this.#storage = storage;
    this.#isForeign = file.missing !== undefined;
    this.#missing = file.missing ?? new Map();
    this.#source = source;
    this.#file = file;
    this.#progress = progress;
  }

  async run(): Promise<ImportReport> {
    const tasks = this.#tasks();
    const work = async () => {
      for await (const { done } of tasks) await done;
    };
    // All workers have ended before the store is closed, even if the first one failed.
    const workers = await Promise.allSettled(Array.from({ length: this.#isForeign ? FOREIGN_AT_ONCE : AT_ONCE }, work));
    const failed = workers.find((outcome) => outcome.status === "rejected");
    if (failed) throw failed.reason;
    return { imported: this.#imported, existing: this.#existing, grown: this.#grown };
  }

  /** Begins one session each time that a worker asks for it. */
  async *#tasks(): AsyncGenerator<{ readonly done: Promise<void> }> {
    for (const session of this.#file.index.order) {
      const image = await this.#file.session(session);
      const done = this.#importSession(session, image, this.#claim(session, image));
      this.#underWay.set(session, done);
      yield { done };
    }
  }

  /**
   * Takes over the messages that no session before this one stores, if others name them, too. Returns what this session
   * waits for: its source, and those that store messages which it names. They are all under way already, so no two
   * sessions can wait for each other.
   */
  #claim(session: number, image: SessionImage<NumberRange>): readonly Promise<void>[] {
    const { index } = this.#file;
    const own = index.numbersOf(session);
    const before = new Set([index.sourceOf(session)]);
    for (const { first, last } of rangesOf(image)) {
      for (const part of this.#writers.parts(first, last)) {
        const isNamedByOthers = part.first < own.first || index.isNamedLater(session);
        if (part.known) before.add(part.known.value);
        else if (isNamedByOthers) this.#writers.add(part.first, part.last, session);
      }
      for (const attachment of index.sharedAttachments({ first, last })) {
        const writer = this.#attachmentWriters.get(attachment);
        if (writer === undefined) this.#attachmentWriters.set(attachment, session);
        else before.add(writer);
      }
    }
    return [...before].flatMap((other) => (other === undefined ? [] : (this.#underWay.get(other) ?? [])));
  }

  async #importSession(
    session: number,
    image: SessionImage<NumberRange>,
    before: readonly Promise<void>[],
  ): Promise<void> {
    await Promise.all(before);
    const { index } = this.#file;
    const read = (range: NumberRange) => this.#read(range);
    let outcome = await this.#storage.restoreSession(this.#shared(image), read);
    // Somebody has deleted or truncated a session that was to be shared, but the file has its messages, too.
    if (outcome.kind === "unshared") outcome = await this.#storage.restoreSession(image, read);
    if (outcome.kind === "restored") {
      this.#imported += 1;
      this.#progress.onStored?.(image.sessionId);
    } else await this.#grow(session, image);
    if (outcome.kind === "restored") this.#note(session, outcome);
    else if (index.isNamedLater(session) || this.#isAttachmentWriter(session, image)) {
      this.#note(session, await findStored(this.#storage, image, read));
    }
    this.#underWay.delete(session);
    this.#progress.onSession();
  }

  /** Appends the messages that an existing session lacks. An import that was interrupted meanwhile is completed so. */
  async #grow(session: number, { sessionId }: SessionImage<NumberRange>): Promise<void> {
    this.#existing += 1;
    const missing = this.#missing.get(session);
    if (missing === undefined) return;
    this.#grown += 1;
    try {
      for (const range of missing) await this.#append(sessionId, range);
      this.#progress.onStored?.(sessionId);
    } catch (error) {
      if (!(error instanceof DomainError) || error.code === "unavailable") throw error;
      this.#notes.leftOut(
        "new messages of sessions that exist",
        `session ${JSON.stringify(sessionId)}: ${error.message}`,
      );
    }
  }

  async #append(sessionId: string, range: NumberRange): Promise<void> {
    for await (const messages of this.#read(range)) {
      for (const { attachments = [] } of messages) {
        for (const one of attachments) await this.#upload(sessionId, one);
      }
      const added = messages.map(({ id, role, timestampMicros, body }) => {
        const { parts, metadata, usage } = body;
        return { id, role, timestampMicros, parts, metadata, usage };
      });
      await this.#storage.logMessages(sessionId, added);
    }
  }

  /** Gives an existing session an attachment that it has not yet. */
  async #upload(sessionId: string, { open }: BackupAttachment): Promise<void> {
    const { attachment, pieces } = await open();
    try {
      await this.#storage.getAttachment(sessionId, attachment.attachmentId, {});
    } catch (error) {
      if (!(error instanceof DomainError) || error.code !== "not_found") throw error;
      await this.#storage.uploadAttachment(sessionId, attachment, pieces);
    }
  }

  /** The attachments that messages of an image name which have to be written, as far as sessions have them. */
  #attachmentsOf(image: RestoredImage): ReadonlyMap<number, SharedAttachment> {
    const found = new Map<number, SharedAttachment>();
    for (const range of rangesOf(image)) {
      for (const number of "log" in range ? [] : this.#file.index.sharedAttachments(range)) {
        const place = this.#attachments.get(number);
        if (place !== undefined) found.set(number, place);
      }
    }
    return found;
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
    const restored = {
      ...image,
      ancestry: image.ancestry.map(({ sessionId, ranges }) => ({ sessionId, ranges: shared(ranges) })),
      messages: shared(image.messages),
      undo: image.undo && shared(image.undo),
    };
    return { ...restored, sharedAttachments: this.#attachmentsOf(restored) };
  }

  /** Messages of the file, whose attachments tell how many of their bytes were read. */
  async *#read(range: NumberRange): AsyncGenerator<readonly BackupMessage[]> {
    const { onBytes } = this.#progress;
    for await (const messages of readNumbers(this.#source, this.#file.index, range)) {
      yield messages.map((message) => ({
        ...message,
        attachments: message.attachments?.map((one) => ({
          ...one,
          open: async () => counted(await one.open(), onBytes),
        })),
      }));
    }
  }

  #isAttachmentWriter(session: number, image: SessionImage<NumberRange>): boolean {
    const named = rangesOf(image).flatMap((range) => this.#file.index.sharedAttachments(range));
    return named.some((number) => this.#attachmentWriters.get(number) === session);
  }

  #note(session: number, { written, attachments }: Stored): void {
    for (const [number, place] of attachments) {
      if (this.#attachmentWriters.has(number) && !this.#attachments.has(number)) this.#attachments.set(number, place);
    }
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

function rangesOf<R>({ ancestry, messages, undo }: SessionImage<R>): readonly R[] {
  return [...ancestry.flatMap(({ ranges }) => ranges), ...messages, ...(undo ?? [])];
}

function counted({ attachment, pieces }: AttachmentContent, onBytes: (bytes: number) => void): AttachmentContent {
  const tell = async function* () {
    for await (const piece of pieces) {
      onBytes(piece.length);
      yield piece;
    }
  };
  return { attachment, pieces: tell() };
}
