import { type FileHandle, open } from "node:fs/promises";
import { DEFAULT_LIMITS } from "../../domain/limits.js";
import type { RootPool } from "../../pool/root-pool.js";
import type { Pools } from "../../pools.js";
import type { StorageManager } from "../../storage/storage-manager.js";
import { withPools } from "../with-pools.js";
import type { BackupFile } from "./backup-file.js";
import { BACKUP_LIMITS } from "./file-shapes.js";
import { ForeignLines } from "./foreign.js";
import { type ImportRequest, importTargets } from "./import-targets.js";
import { Importer, type ImportReport } from "./importer.js";
import { FileLines, type LineSource } from "./lines.js";
import { progressBar } from "./progress-bar.js";
import { type BackupSection, readBackup } from "./read-backup.js";
import { isChatGpt, readChatGpt } from "./read-chatgpt.js";
import { readOldBackup } from "./read-old-backup.js";
import { isOpenCode, readOpenCode } from "./read-opencode.js";
import { countNamespaces, countSessions, FILE_HEADER } from "./session-file.js";
import { isObject } from "./shape.js";

/** A file that was found to be complete, and the source of its lines. */
interface Opened {
  readonly source: LineSource;
  readonly sections: readonly BackupSection[];
}

/**
 * Imports sessions from a file of this program, OpenCode or ChatGPT. The whole file is checked before anything is
 * stored. It can be repeated: sessions whose ids exist already are left alone, and an import that was interrupted is
 * completed.
 */
export async function importSessions(request: ImportRequest, path: string): Promise<void> {
  const handle = await openForReading(path);
  try {
    const { source, sections } = await checkFile(handle, path);
    const targets = importTargets(request, sections, path);
    const store = async (pools: Pools) => {
      let [imported, existing] = [0, 0];
      for (const { namespace, file } of targets) {
        const report = await storeBackup(pools.for(namespace), { source, file });
        imported += report.imported;
        existing += report.existing;
      }
      return { imported, existing };
    };
    const { imported, existing } = await withPools(request.storage, store, { create: true, limits: BACKUP_LIMITS });
    const note =
      existing === 0 ? "" : `, ${existing.toLocaleString("en-US")} ${existing === 1 ? "was" : "were"} there already`;
    const to = targets.length > 1 ? ` to ${countNamespaces(targets.length)}` : "";
    process.stderr.write(`Imported ${countSessions(imported)}${to}${note}\n`);
  } finally {
    await handle.close();
  }
}

/** Stores the sessions and todos of a file. */
export async function storeBackup(
  pool: RootPool,
  { source, file }: { readonly source: LineSource; readonly file: BackupFile },
): Promise<ImportReport> {
  const bar = progressBar("Importing", "sessions");
  bar.start(file.index.sessionCount, 0);
  try {
    const importer = new Importer(pool.storage as StorageManager, source, file, () => bar.increment());
    const report = await importer.run();
    await pool.todos.addMissing(file.todos);
    return report;
  } finally {
    bar.stop();
  }
}

/** Reads a whole file; throws an Error that names the file and the first invalid line. */
export async function checkFile(handle: FileHandle, path: string): Promise<Opened> {
  const bar = progressBar("Checking", "bytes");
  bar.start((await handle.stat()).size, 0);
  let isChecked = false;
  const lines = new FileLines(handle, (bytes) => {
    if (!isChecked) bar.increment(bytes);
  });
  try {
    return await read(handle, lines);
  } catch (error) {
    throw new Error(`${path}: ${(error as Error).message}`, { cause: error });
  } finally {
    isChecked = true;
    bar.stop();
  }
}

async function read(handle: FileHandle, lines: FileLines): Promise<Opened> {
  const version = await ownVersion(lines);
  if (version === FILE_HEADER.version) return { source: lines, sections: await readBackup(lines) };
  if (version === 1) return { source: lines, sections: [anywhere(await readOldBackup(lines, BACKUP_LIMITS))] };
  if (version !== null) {
    throw new Error(
      `the file has version ${JSON.stringify(version)}; this program reads versions up to ${FILE_HEADER.version}`,
    );
  }
  const source = new ForeignLines(readForeign(await readJson(handle)));
  return { source, sections: [anywhere(await readOldBackup(source, DEFAULT_LIMITS))] };
}

function anywhere(file: BackupFile): BackupSection {
  return { namespace: undefined, file };
}

/** The version in the first line; null when this program did not write the file. */
async function ownVersion(lines: LineSource): Promise<unknown> {
  for await (const { number, text } of lines.lines()) {
    const value = parse(text);
    const isOwn = number === 1 && isObject(value) && value.format === FILE_HEADER.format;
    return isOwn ? (value.version ?? "") : null;
  }
  return null;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function readJson(handle: FileHandle): Promise<unknown> {
  const { size } = await handle.stat();
  const { buffer } = await handle.read(Buffer.alloc(size), 0, size, 0);
  const text = textOf(buffer);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error("the file is neither JSON nor an export of session-pool", { cause });
  }
}

/** Decodes UTF-8, without the byte order mark that some programs put first. */
function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new Error("the file is not UTF-8", { cause });
  }
}

function readForeign(value: unknown) {
  const nowMicros = Date.now() * 1000;
  if (isChatGpt(value)) return readChatGpt(value, nowMicros);
  if (isOpenCode(value)) return readOpenCode(value, nowMicros);
  throw new Error("the file is not an export of session-pool, OpenCode or ChatGPT");
}

async function openForReading(path: string): Promise<FileHandle> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(path);
    if ((await handle.stat()).isFile()) return handle;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const reason = code === "ENOENT" ? "there is no such file" : `the file cannot be read (${code})`;
    throw new Error(`${path}: ${reason}`, { cause });
  }
  await handle.close();
  throw new Error(`${path}: it is not a file`);
}
