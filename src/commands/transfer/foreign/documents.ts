import { createReadStream } from "node:fs";
import { open, readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { constants, createGunzip } from "node:zlib";
import type { SourceFile } from "../readers/reader.js";
import { type FileKind, kindOf } from "./file-kind.js";
import type { Chunks } from "./split-json.js";
import { openZip } from "./zip.js";

/** A file to be imported, or one of an archive or a folder. */
export interface SourceDocument {
  /** As notes name it; with its folders in an archive or a folder. */
  readonly name: string;
  readonly kind: FileKind;
  /** Where the file is, for readers of databases; absent in archives. */
  readonly path?: string;
  /** Its bytes as UTF-8, unpacked. */
  chunks(): Chunks;
}

/** What a path leads to. */
export interface Source {
  readonly documents: readonly SourceDocument[];
  /** All files of an archive or folder, by their names without folders. */
  readonly files: ReadonlyMap<string, SourceFile>;
  /** Whether files that no reader knows may be passed over: in an archive or a folder. */
  readonly isCollection: boolean;
  /** How many bytes reading everything takes, as `onBytes` counts them. */
  readonly bytes: number;
  close(): Promise<void>;
}

const HEAD_BYTES = 4096;
const CHUNK_BYTES = 256 * 1024;
/** Files of archives and folders that can be sessions. All others are attachments. */
const SESSIONS = /\.(?:jsonl?|ndjson)$/i;

/** Opens a file, an archive or a folder. `onBytes` is called with the number of bytes that were read. */
export async function openSource(path: string, onBytes: (bytes: number) => void): Promise<Source> {
  const found = await stat(path);
  if (found.isDirectory()) return openFolder(path, onBytes);
  const document = await fileDocument(path, basename(path), onBytes);
  if (document.kind === "zip") return openArchive(path, onBytes);
  return { documents: [document], files: new Map(), isCollection: false, bytes: found.size, close: async () => {} };
}

async function fileDocument(path: string, name: string, onBytes: (bytes: number) => void): Promise<SourceDocument> {
  const kind = kindOf(await headOf(path));
  const read = () => counted(createReadStream(path, { highWaterMark: CHUNK_BYTES }), onBytes);
  if (kind !== "gzip") return { name, kind, path, chunks: () => withUtf8(read()) };
  return { name, kind: "text", chunks: () => withUtf8(unpacked(read())) };
}

async function* unpacked(chunks: Chunks): Chunks {
  // Of a file that was cut off, all that is there comes out.
  const gunzip = createGunzip({ finishFlush: constants.Z_SYNC_FLUSH });
  // An error of either stream is thrown to the reader.
  const done = pipeline(chunks, gunzip).catch((error: Error) => gunzip.destroy(error));
  yield* gunzip;
  await done;
}

async function* counted(chunks: Chunks, onBytes: (bytes: number) => void): Chunks {
  for await (const chunk of chunks) {
    onBytes(chunk.length);
    yield chunk;
  }
}

async function headOf(path: string): Promise<Buffer> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

async function openFolder(path: string, onBytes: (bytes: number) => void): Promise<Source> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  const paths = files.filter((file) => SESSIONS.test(file));
  const documents = await Promise.all(paths.map((file) => fileDocument(file, file.slice(path.length + 1), onBytes)));
  const sizes = await Promise.all(paths.map(async (file) => (await stat(file)).size));
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  const named = files.map(async (file): Promise<[string, SourceFile]> => {
    const { size } = await stat(file);
    return [basename(file), { size, open: () => createReadStream(file, { highWaterMark: CHUNK_BYTES }) }];
  });
  return { documents, files: new Map(await Promise.all(named)), isCollection: true, bytes, close: async () => {} };
}

async function openArchive(path: string, onBytes: (bytes: number) => void): Promise<Source> {
  const { files, close } = await openZip(path);
  const chosen = files.filter(({ name }) => SESSIONS.test(name)).sort((a, b) => (a.name < b.name ? -1 : 1));
  const documents = chosen.map(({ name, chunks }) => ({
    name,
    kind: "text" as const,
    chunks: () => withUtf8(counted(chunks(), onBytes)),
  }));
  const bytes = chosen.reduce((sum, { size }) => sum + size, 0);
  const named = files.map(({ name, size, checked }): [string, SourceFile] => [basename(name), { size, open: checked }]);
  return { documents, files: new Map(named), isCollection: true, bytes, close };
}

/** Text as UTF-8. Windows writes UTF-16 with a mark in front when the output of a program goes to a file. */
async function* withUtf8(chunks: Chunks): Chunks {
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  let isFirst = true;
  for await (const chunk of chunks) {
    if (isFirst) decoder = utf16Decoder(chunk);
    isFirst = false;
    yield decoder ? Buffer.from(decoder.decode(chunk, { stream: true })) : chunk;
  }
  if (decoder) yield Buffer.from(decoder.decode());
}

function utf16Decoder([first, second]: Uint8Array): InstanceType<typeof TextDecoder> | undefined {
  if (first === 0xff && second === 0xfe) return new TextDecoder("utf-16le");
  if (first === 0xfe && second === 0xff) return new TextDecoder("utf-16be");
  return undefined;
}
