import type { JsonObject } from "../../../domain/json.js";
import type { Labels } from "../../../domain/labels.js";
import type { Usage } from "../../../domain/usage.js";
import type { ImportNotes } from "../foreign/import-notes.js";

/**
 * Reads the files of one program. A reader says what is in its files; it checks no limits and repairs nothing that
 * every format shares: texts, ids, sizes, depths, times and doubled ids are mended when a session is stored (see
 * mend-session.ts). Each reader has a file of its own in this folder and a line in `table.ts`.
 */
export type Reader = JsonReader | DatabaseReader;

/** Reads JSON: a list, whose items are the entries; JSON Lines, where each line is one; or one value, which is one. */
export interface JsonReader {
  /** The program, as messages to the user name it. */
  readonly name: string;
  /**
   * Whether the reader knows an entry. The reader that knows one of the first entries gets all of them, so it should
   * answer true only for what no other format has.
   */
  isEntry(value: unknown): boolean;
  /**
   * Yields the sessions of a document one at a time. Entries come in the order of the document, and may have any shape:
   * `forEachEntry` turns an Error about one of them into a note.
   */
  read(entries: AsyncIterable<Entry>, context: ReadContext): AsyncIterable<ForeignSession>;
}

/** Reads a SQLite database. */
export interface DatabaseReader {
  readonly name: string;
  /** Tables that the databases of this format have, all of them. */
  readonly tables: readonly string[];
  /** Yields the sessions of the database at this path, which is a copy. */
  readDatabase(path: string, context: ReadContext): AsyncIterable<ForeignSession>;
}

export interface Entry {
  /** What notes call it, such as `conversations.json, entry 3`. */
  readonly place: string;
  /** As JSON.parse returns it, except that integers that no double holds are texts of their digits. */
  readonly value: unknown;
}

export interface ReadContext {
  /** Where a reader tells what it mended or left out. */
  readonly notes: ImportNotes;
  /** The name of the document, without folders; for files that have their session's id in their names. */
  readonly document: string;
  /** The time of the import. */
  readonly nowMicros: number;
  /** The files of an archive or folder, among them those that messages name, by their names without folders. */
  readonly files: ReadonlyMap<string, SourceFile>;
  /**
   * Names of the calls of models whose usage was read, in any document. Copies of a message, as forks and continued
   * sessions have them, are about the same call, which counts once.
   */
  readonly calls: Set<string>;
}

/** A file of an archive or folder. */
export interface SourceFile {
  /** Number of bytes. */
  readonly size: number;
  /** Reads it from the beginning; may be called again. */
  open(): AsyncIterable<Uint8Array>;
}

/** A session of another program. Fields may hold anything that their types allow; what does not fit is mended. */
export interface ForeignSession {
  /** When it is empty, an id is made of the content, so that a second import finds the session again. */
  readonly sessionId: string;
  /** The session that started this one, as an agent starts a subagent, anywhere in the file or not in it. */
  readonly parentId?: string | undefined;
  readonly title?: string | undefined;
  readonly labels?: Labels | undefined;
  /** What else the file says of the session, in an object under the program's name: `{ opencode: {…} }`. */
  readonly metadata?: JsonObject | undefined;
  /** When absent, the time of the first message. */
  readonly createTimeMicros?: number | undefined;
  /** When absent, the time of the last message. Lists are in this order. */
  readonly updateTimeMicros?: number | undefined;
  /** The history as the program shows it. */
  readonly messages: readonly ForeignMessage[];
  /** Other branches, each after the branch that it leaves. They become forks of the session. */
  readonly forks?: readonly ForeignFork[] | undefined;
  /**
   * The whole history as it was before messages were undone: what an unrevert brings back. Messages that it shares with
   * `messages` are the same objects.
   */
  readonly undo?: readonly ForeignMessage[] | undefined;
}

/** A branch of a session: another way on from a message. */
export interface ForeignFork {
  /** The last message that it shares, the same object as in the session or an earlier fork; null when there is none. */
  readonly after: ForeignMessage | null;
  /** Only the messages after that one; at least one. */
  readonly messages: readonly ForeignMessage[];
}

export interface ForeignMessage {
  /** When it is empty, an id is made of its place in the session. */
  readonly id: string;
  /** `user`, `assistant`, `system`, `tool` or what else the program has. */
  readonly role: string;
  /** When absent, the time of the message before it. The order of the messages counts more than their times. */
  readonly timestampMicros?: number | undefined;
  readonly parts: readonly ForeignPart[];
  /** As in ForeignSession. What is too large becomes a part of the type `metadata`. */
  readonly metadata?: JsonObject | undefined;
  /** What the call of the model took, as `usageFrom` reads it. */
  readonly usage?: Usage | undefined;
}

export interface ForeignPart {
  readonly id?: string | undefined;
  /** `text` for what is shown, searched and previewed as the message's text. */
  readonly type: string;
  readonly text?: string | undefined;
  readonly data?: JsonObject | undefined;
  /** A file that becomes the part's attachment. What is in the text and the data is found by itself. */
  readonly file?: ForeignAttachment | undefined;
}

export interface ForeignAttachment {
  readonly name: string;
  /** Empty when it is not known. */
  readonly mediaType: string;
  readonly source: SourceFile;
}
