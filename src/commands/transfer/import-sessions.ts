import { type FileHandle, open } from "node:fs/promises";
import type { SingleBar } from "cli-progress";
import { checkOwner } from "../../domain/access.js";
import { DomainError } from "../../domain/errors.js";
import { DEFAULT_LIMITS, type Limits } from "../../domain/limits.js";
import type { RootPool } from "../../pool/root-pool.js";
import type { Pools } from "../../pools.js";
import type { StorageManager } from "../../storage/storage-manager.js";
import type { CommandAudit } from "../audited.js";
import { withPools } from "../with-pools.js";
import type { BackupFile } from "./backup-file.js";
import { BACKUP_LIMITS } from "./file-shapes.js";
import { planGrowth } from "./foreign/growth.js";
import { ImportNotes } from "./foreign/import-notes.js";
import { readForeign } from "./foreign/read-foreign.js";
import { Importer, type ImportProgress, type ImportReport } from "./importer.js";
import { FileLines, type LineSource } from "./lines.js";
import { attachedBytes, progressBar } from "./progress-bar.js";
import { type BackupSection, readBackup } from "./read-backup.js";
import { readOldBackup } from "./read-old-backup.js";
import { countNamespaces, countOf, countSessions, FILE_HEADER, FILE_VERSIONS } from "./session-file.js";
import { isObject } from "./shape.js";

/** The first line of a backup is shorter. */
const HEADER_BYTES = 4096;

/** A file that was found to be complete, and the source of its lines. */
interface Opened {
  readonly source: LineSource;
  readonly sections: readonly BackupSection[];
  /** What was mended or left out of another program's file; absent for files of this program. */
  readonly notes?: ImportNotes;
  close?(): Promise<void>;
}

/** Where a caller wants the sessions of a file. */
export interface ImportTarget {
  readonly storage: string;
  readonly namespace: string;
  /** Whether the caller named the namespace, rather than took the default. */
  readonly isNamespaceGiven?: boolean | undefined;
  /** What sessions of other programs have to keep to. */
  readonly limits?: Limits | undefined;
  /** Refuses a file of which something would have to be mended or left out. */
  readonly strict?: boolean | undefined;
  /** The owner that every imported session gets in place of its own. */
  readonly owner?: string | undefined;
  /** Hears which sessions were imported, and how many. */
  readonly audit?: Pick<CommandAudit, "summary" | "write"> | undefined;
}

export interface ImportSummary extends ImportReport {
  /** How many things of the file were not stored. */
  readonly leftOut: number;
}

/**
 * Imports sessions from a file of this program or another one that `readers/table.ts` knows. The whole file is read
 * before anything is stored. It can be repeated: sessions whose ids exist already are left alone, and an import that
 * was interrupted is completed. Prints what was stored, mended and left out.
 */
export async function importSessions(target: ImportTarget, path: string): Promise<ImportSummary> {
  const { storage, limits = DEFAULT_LIMITS, strict, owner } = target;
  checkOwner("--owner", owner);
  const opened = await openImport(path, limits);
  try {
    const { source, sections, notes } = opened;
    if (strict && notes?.first !== undefined) throw new Error(`${path}: ${notes.first}; nothing was stored`);
    const targets = importTargets(target, sections, path);
    const store = async (pools: Pools) => {
      if (owner !== undefined)
        for (const { namespace, file } of targets) await checkOwned(pools.for(namespace), file, owner);
      const total = { imported: 0, existing: 0, grown: 0 };
      for (const { namespace, file } of targets) {
        const report = await storeBackup(pools.for(namespace), {
          source,
          file: ownedBy(file, owner),
          ...(notes && { notes }),
          onStored: (sessionId) => target.audit?.write({ namespace, sessionId, result: "ok" }),
        });
        total.imported += report.imported;
        total.existing += report.existing;
        total.grown += report.grown;
      }
      return total;
    };
    const report = await withPools(storage, store, { create: true, limits: BACKUP_LIMITS });
    if (target.audit !== undefined) target.audit.summary = { sessions: report.imported };
    printReport(report, targets, notes);
    return { ...report, leftOut: notes?.leftOutCount ?? 0 };
  } finally {
    await opened.close?.();
  }
}

function printReport(
  { imported, existing, grown }: ImportReport,
  targets: readonly { readonly file: BackupFile }[],
  notes: ImportNotes | undefined,
): void {
  const count = (number: number) => number.toLocaleString("en-US");
  const to = targets.length > 1 ? ` to ${countNamespaces(targets.length)}` : "";
  const there = existing === 0 ? "" : `, ${count(existing)} ${existing === 1 ? "was" : "were"} there already`;
  const more = grown === 0 ? "" : `, ${count(grown)} of them ${grown === 1 ? "has" : "have"} new messages now`;
  const isEmpty = targets.every(({ file }) => file.index.sessionCount === 0 && file.todos.length === 0);
  const none = isEmpty ? ", because the file holds none" : "";
  const lines = [`Imported ${countSessions(imported)}${to}${there}${more}${none}`, ...(notes?.lines() ?? [])];
  const missing = targets.reduce((sum, { file }) => sum + (file.missingCount ?? 0), 0);
  if (missing > 0) {
    lines.push(
      `${countOf(missing, "attachment")} ${missing === 1 ? "is" : "are"} not in the file, only named by messages`,
    );
  }
  process.stderr.write(lines.map((line) => `${line}\n`).join(""));
}

/**
 * Throws an Error when a session of the file exists and belongs to somebody else. Its new messages, and forks of it,
 * would otherwise mix what two owners have.
 */
async function checkOwned({ sessions }: RootPool, { index, session }: BackupFile, owner: string): Promise<void> {
  for (const i of index.order) {
    const { sessionId } = await session(i);
    const existing = await sessions.getSession(sessionId).catch(unlessMissing);
    if (existing === undefined || existing.owner === owner) continue;
    const whose = existing.owner === undefined ? "has no owner" : `belongs to ${JSON.stringify(existing.owner)}`;
    throw new Error(`Session ${JSON.stringify(sessionId)} exists already and ${whose}; nothing was stored`);
  }
}

function unlessMissing(error: unknown): undefined {
  if (!(error instanceof DomainError) || error.code !== "not_found") throw error;
}

/** The same file, with all its sessions belonging to this owner. */
function ownedBy<F extends BackupFile>(file: F, owner: string | undefined): F {
  if (owner === undefined) return file;
  return { ...file, session: async (i: number) => ({ ...(await file.session(i)), owner }) };
}

/** Stores the sessions and todos of a file. */
export async function storeBackup(
  pool: RootPool,
  {
    source,
    file,
    notes,
    onStored,
  }: Pick<Opened, "source" | "notes"> & Pick<BackupSection, "file"> & Pick<ImportProgress, "onStored">,
): Promise<ImportReport> {
  const bar = progressBar("Importing", "sessions{attached}");
  bar.start(file.index.sessionCount, 0, { attached: "" });
  const onBytes = attachedBytes((attached) => bar.update({ attached }));
  const storage = pool.storage as StorageManager;
  try {
    const grown = "conversations" in file ? await planGrowth(storage, source, file) : file;
    const progress = { onSession: () => bar.increment(), onBytes, ...(onStored && { onStored }) };
    const importer = new Importer(storage, source, grown, progress, notes);
    const report = await importer.run();
    await pool.todos.addMissing(file.todos);
    return report;
  } finally {
    bar.stop();
  }
}

async function openImport(path: string, limits: Limits): Promise<Opened> {
  const handle = await openForReading(path);
  try {
    const opened = await ((await handle.stat()).isDirectory()
      ? readOther(path, limits)
      : checkFile(handle, path, limits));
    const close = async () => {
      await opened.close?.();
      await handle.close();
    };
    return { ...opened, close };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Reads a whole file; throws an Error that names the file and, if it is a backup, the first invalid line. */
export async function checkFile(handle: FileHandle, path: string, limits: Limits = DEFAULT_LIMITS): Promise<Opened> {
  const version = await ownVersion(handle);
  if (version === null) return readOther(path, limits);
  return reading(path, async (bar) => {
    bar.start((await handle.stat()).size, 0);
    let isChecked = false;
    const source = new FileLines(handle, (bytes) => {
      if (!isChecked) bar.increment(bytes);
    });
    try {
      const notes = new ImportNotes();
      return { source, sections: await readOwn(source, version, notes), notes };
    } finally {
      isChecked = true;
    }
  });
}

async function readOwn(lines: LineSource, version: unknown, notes: ImportNotes): Promise<readonly BackupSection[]> {
  if (FILE_VERSIONS.includes(version)) return readBackup(lines, notes);
  if (version === 1) return [{ namespace: undefined, file: await readOldBackup(lines) }];
  const newest = FILE_HEADER.version;
  throw new Error(`the file has version ${JSON.stringify(version)}; this program reads versions up to ${newest}`);
}

/** Reads a file, an archive or a folder of another program. */
function readOther(path: string, limits: Limits): Promise<Opened> {
  return reading(path, async (bar) => {
    const progress = {
      onSize: (bytes: number) => bar.start(bytes, 0),
      onBytes: (bytes: number) => bar.increment(bytes),
    };
    const { file, ...opened } = await readForeign(path, limits, progress);
    return { ...opened, sections: [{ namespace: undefined, file }] };
  });
}

/** Shows a progress bar while a file is read, and names the file in errors. */
async function reading(path: string, read: (bar: SingleBar) => Promise<Opened>): Promise<Opened> {
  const bar = progressBar("Reading", "bytes");
  try {
    return await read(bar);
  } catch (error) {
    throw new Error(`${path}: ${(error as Error).message}`, { cause: error });
  } finally {
    bar.stop();
  }
}

/** The version in the first line; null when this program did not write the file. */
async function ownVersion(handle: FileHandle): Promise<unknown> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0);
  const [first = ""] = buffer.toString("utf8", 0, bytesRead).trimStart().split("\n");
  const value = parse(first);
  return isObject(value) && value.format === FILE_HEADER.format ? (value.version ?? "") : null;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function openForReading(path: string): Promise<FileHandle> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(path);
    const found = await handle.stat();
    if (found.isFile() || found.isDirectory()) return handle;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const reason = code === "ENOENT" ? "there is no such file" : `the file cannot be read (${code})`;
    throw new Error(`${path}: ${reason}`, { cause });
  }
  await handle.close();
  throw new Error(`${path}: it is neither a file nor a folder`);
}

/**
 * The namespace that each section of a file goes to: its own, unless the caller named one. Then only the section of
 * that namespace is taken. A section without a namespace goes to the caller's. Throws an Error when nothing is left.
 */
function importTargets(
  { namespace, isNamespaceGiven = false }: ImportTarget,
  sections: readonly BackupSection[],
  path: string,
): readonly (BackupSection & { readonly namespace: string })[] {
  const wanted = isNamespaceGiven
    ? sections.filter((section) => (section.namespace ?? namespace) === namespace)
    : sections;
  if (wanted.length === 0) {
    const names = sections.map((section) => JSON.stringify(section.namespace)).join(", ");
    throw new Error(`${path}: it holds no namespace ${JSON.stringify(namespace)}, but ${names}`);
  }
  return wanted.map(({ namespace: own = namespace, file }) => ({ namespace: own, file }));
}
