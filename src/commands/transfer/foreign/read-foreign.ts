import { basename } from "node:path";
import Database from "libsql";
import type { Limits } from "../../../domain/limits.js";
import type { DatabaseReader, Entry, ForeignSession, JsonReader, ReadContext } from "../readers/reader.js";
import { READERS } from "../readers/table.js";
import { isObject } from "../shape.js";
import { copyDatabase, type DatabaseCopy } from "./database-copy.js";
import { openSource, type Source, type SourceDocument } from "./documents.js";
import { ForeignFile } from "./foreign-file.js";
import { ImportNotes } from "./import-notes.js";
import { readEntries } from "./json-entries.js";

/** How much of a document is read to find an entry that a reader knows. */
const MAX_SOUGHT_ENTRIES = 1000;
const NAMES = new Intl.ListFormat("en", { type: "disjunction" });

const jsonReaders = READERS.filter((reader): reader is JsonReader => "isEntry" in reader);
const databaseReaders = READERS.filter((reader): reader is DatabaseReader => "tables" in reader);

/** What was read of a document: its sessions, or why no reader knows it. */
type Reading = { readonly sessions: AsyncIterable<ForeignSession> } | { readonly refusal: string };

/** Hears how many bytes there are to be read, once, and how many were read, each time. */
export interface ReadProgress {
  onSize(bytes: number): void;
  onBytes(bytes: number): void;
}

/** Reads the file, archive or folder of another program as a whole; throws an Error that says what it is instead. */
export async function readForeign(path: string, limits: Limits, progress: ReadProgress) {
  const notes = new ImportNotes();
  const nowMicros = Date.now() * 1000;
  const source = await openSource(path, progress.onBytes);
  try {
    progress.onSize(source.bytes);
    const file = await ForeignFile.create(limits, notes, nowMicros);
    try {
      const refusal = await addAll(source, file, { notes, nowMicros, files: source.files, calls: new Set() });
      if (refusal !== undefined) throw new Error(refusal);
      return { ...(await file.finish()), notes, close: () => file.close() };
    } catch (error) {
      await file.close();
      throw error;
    }
  } finally {
    await source.close();
  }
}

/** Returns why nothing could be read; undefined when at least one document was. */
async function addAll(
  source: Source,
  file: ForeignFile,
  shared: Omit<ReadContext, "document">,
): Promise<string | undefined> {
  let refusal: string | undefined = "there is no JSON in it";
  let isKnown = false;
  for (const document of source.documents) {
    const reading = await read(document, { ...shared, document: basename(document.name) });
    if ("refusal" in reading) {
      refusal = source.isCollection ? `${document.name}: ${reading.refusal}` : reading.refusal;
      continue;
    }
    isKnown = true;
    for await (const session of reading.sessions) await file.add(session);
  }
  return isKnown ? undefined : refusal;
}

async function read(document: SourceDocument, context: ReadContext): Promise<Reading> {
  const { kind, path } = document;
  if (kind === "text") return readJson(document, context);
  if (kind === "sqlite" && path !== undefined) return readDatabase(path, context);
  if (typeof kind === "object") return { refusal: `the file is ${kind.refusal}` };
  return { refusal: kind === "empty" ? "the file is empty" : `the file is packed twice (${kind}); unpack it first` };
}

async function readDatabase(path: string, context: ReadContext): Promise<Reading> {
  const copy = await copyDatabase(path);
  const tables = tablesOf(copy.path);
  const reader = databaseReaders.find((one) => one.tables.every((table) => tables.includes(table)));
  if (reader) return { sessions: ofCopy(reader, copy, context) };
  await copy.remove();
  const what =
    tables.length === 0 ? "without tables, or a damaged one" : `with the tables ${tables.slice(0, 8).join(", ")}`;
  return { refusal: `the file is a SQLite database ${what}; no program that can be imported writes such a database` };
}

async function* ofCopy(reader: DatabaseReader, copy: DatabaseCopy, context: ReadContext) {
  try {
    yield* reader.readDatabase(copy.path, context);
  } catch (error) {
    throw new Error(`the database of ${reader.name} cannot be read: ${(error as Error).message}`, { cause: error });
  } finally {
    await copy.remove();
  }
}

async function readJson(document: SourceDocument, context: ReadContext): Promise<Reading> {
  // Notes about a document that no reader takes would confuse.
  const notes = new ImportNotes();
  const entries = readEntries(document, notes);
  const first: Entry[] = [];
  let reader: JsonReader | undefined;
  while (reader === undefined && first.length < MAX_SOUGHT_ENTRIES) {
    const next = await entries.next();
    if (next.done) break;
    first.push(next.value);
    reader = jsonReaders.find((one) => one.isEntry(next.value.value));
  }
  if (reader) return { sessions: sessionsOf(reader, replayed(first, entries), notes, context) };
  await entries.return(undefined);
  if (first.length === 0 && notes.first === undefined) return { sessions: none() };
  // Beside others, such a file would be missed without a word.
  if (first.length === 0) context.notes.add(notes);
  return { refusal: refusalOf(first) };
}

async function* sessionsOf(
  reader: JsonReader,
  entries: AsyncIterable<Entry>,
  notes: ImportNotes,
  context: ReadContext,
) {
  yield* reader.read(entries, context);
  context.notes.add(notes);
}

async function* replayed(first: readonly Entry[], rest: AsyncIterable<Entry>): AsyncGenerator<Entry> {
  yield* first;
  yield* rest;
}

async function* none(): AsyncGenerator<ForeignSession> {}

function refusalOf([first]: readonly Entry[]): string {
  const programs = NAMES.format(new Set(["session-pool", ...READERS.map(({ name }) => name)]));
  if (first === undefined) return `the file is neither JSON nor an export of ${programs}`;
  const what = / line \d+$/.test(first.place) ? "JSON Lines" : "JSON";
  const fields = isObject(first.value) ? Object.keys(first.value).slice(0, 8).join(", ") : "";
  const shown = fields === "" ? "" : `; its first entry has the fields ${fields}`;
  return `the file is ${what}, but not an export of ${programs}${shown}`;
}

/** The names of the tables of a SQLite database; empty when it is damaged. */
function tablesOf(path: string): readonly string[] {
  try {
    const database = new Database(path, { readonly: true, fileMustExist: true } as object);
    try {
      const rows = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all();
      return (rows as { readonly name: string }[]).map(({ name }) => name);
    } finally {
      database.close();
    }
  } catch {
    return [];
  }
}
