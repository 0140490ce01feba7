import { promisify } from "node:util";
import { crc32 } from "node:zlib";
import type { Entry, ZipFile } from "yauzl";
import type { Chunks } from "./split-json.js";

/** A file of an archive. */
export interface ZippedFile {
  /** With its folders. */
  readonly name: string;
  /** In bytes, unpacked. */
  readonly size: number;
  chunks(): Chunks;
  /** The same, but throws an Error at the end when the bytes are not those that were packed. */
  checked(): Chunks;
}

/** Opens an archive and lists its files, which can be read as streams. Throws an Error when it is damaged. */
export async function openZip(
  path: string,
): Promise<{ readonly files: readonly ZippedFile[]; close(): Promise<void> }> {
  const { default: yauzl } = await import("yauzl");
  const zip = (await promisify<string, object, ZipFile>(yauzl.open)(path, {
    autoClose: false,
    lazyEntries: true,
  }).catch((cause: unknown) => {
    throw new Error(`the ZIP archive is damaged: ${(cause as Error).message}`, { cause });
  })) as ZipFile;
  const entries = await entriesOf(zip);
  const files = entries
    .filter(({ fileName }) => !fileName.endsWith("/"))
    .map((entry) => {
      const chunks = () => chunksOf(zip, entry);
      return { name: entry.fileName, size: entry.uncompressedSize, chunks, checked: () => checked(chunks(), entry) };
    });
  return { files, close: async () => zip.close() };
}

function entriesOf(zip: ZipFile): Promise<Entry[]> {
  const entries: Entry[] = [];
  return new Promise((resolve, reject) => {
    zip.on("entry", (entry: Entry) => {
      entries.push(entry);
      zip.readEntry();
    });
    zip.on("end", () => resolve(entries));
    zip.on("error", (cause) => reject(new Error(`the ZIP archive is damaged: ${cause.message}`, { cause })));
    zip.readEntry();
  });
}

async function* chunksOf(zip: ZipFile, entry: Entry): Chunks {
  const stream = await new Promise<NodeJS.ReadableStream>((resolve, reject) =>
    zip.openReadStream(entry, (error, opened) => (error ? reject(error) : resolve(opened))),
  );
  yield* stream as unknown as Chunks;
}

async function* checked(chunks: Chunks, entry: Entry): Chunks {
  let sum = 0;
  for await (const chunk of chunks) {
    sum = crc32(chunk, sum);
    yield chunk;
  }
  if (sum !== entry.crc32) throw new Error("its CRC is wrong: the archive is damaged there");
}
