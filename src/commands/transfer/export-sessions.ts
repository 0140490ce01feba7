import { DomainError } from "../../domain/errors.js";
import { onOneLine } from "../../domain/json.js";
import type { BackupMessage, SessionKey, SessionSnapshot } from "../../domain/session-image.js";
import type { RootPool } from "../../pool/root-pool.js";
import type { Pools } from "../../pools.js";
import type { StorageManager } from "../../storage/storage-manager.js";
import { withPools } from "../with-pools.js";
import { type BackupOptions, type ExportRequest, type ExportScope, exportScope } from "./export-scope.js";
import { Numbering } from "./numbering.js";
import { type Write, writeOutput } from "./output.js";
import { progressBar } from "./progress-bar.js";
import { countNamespaces, countSessions, FILE_HEADER, type FileHeader, type FileItem } from "./session-file.js";
import { Spool } from "./spool.js";

export interface TransferTarget {
  readonly storage: string;
  readonly namespace: string;
}

export interface ExportReport {
  readonly exported: number;
  /** Sessions that were deleted after the export began, or got another owner than the one that was asked for. */
  readonly deleted: number;
}

const PAGE = 1000;
/** A session that is still incomplete after this many snapshots is damaged. */
const MAX_ATTEMPTS = 5;

/**
 * Writes sessions with their histories, and the todos, to a file or to standard output (`-`). The store may be in use.
 * Throws an Error, and leaves an existing file alone, when the namespace holds nothing but others do, and when a
 * session that was named does not exist.
 */
export async function exportSessions(request: ExportRequest, path: string): Promise<void> {
  const { exported, deleted, scope } = await withPools(request.storage, async (pools) => {
    const scope = await exportScope(pools, request);
    const report = await writeOutput(path, (write) => writeSections(pools, scope, write));
    return { ...report, scope };
  });
  const from = request.allNamespaces ? ` from ${countNamespaces(scope.sections.length)}` : "";
  const change = request.owner === undefined ? "deleted" : "deleted or given to another owner";
  const note =
    deleted === 0 ? "" : `; ${deleted.toLocaleString("en-US")} ${deleted === 1 ? "was" : "were"} ${change} meanwhile`;
  process.stderr.write(`Exported ${countSessions(exported)}${from}${note}\n`);
  if (scope.note !== undefined) process.stderr.write(`${scope.note}\n`);
}

async function writeSections(pools: Pools, { sections }: ExportScope, write: Write): Promise<ExportReport> {
  let [exported, deleted] = [0, 0];
  for (const { namespace, options } of sections) {
    const report = await writeBackup(pools.for(namespace), write, options);
    exported += report.exported;
    deleted += report.deleted;
  }
  return { exported, deleted };
}

/** Writes a backup of one namespace; see FILE_HEADER. */
export async function writeBackup(
  pool: RootPool,
  write: Write,
  { namespace, sessions, owner }: BackupOptions = {},
): Promise<ExportReport> {
  const storage = pool.storage as StorageManager;
  const keys = sessions === undefined ? await keysOfOwner(storage, owner) : await keysOf(storage, sessions);
  const isWhole = sessions === undefined && owner === undefined;
  const numbering = new Numbering();
  const bar = progressBar("Exporting", "sessions");
  bar.start(keys.length, 0);
  let exported = 0;
  try {
    await write(lineOf({ ...FILE_HEADER, namespace }));
    for (const key of keys.sort(byCreateTime)) {
      if (await writeSession(storage, numbering, { ...key, owner }, write)) exported += 1;
      bar.increment();
    }
    const todos = isWhole ? await pool.todos.list() : [];
    // A program that embeds the library may have stored other fields, too, which an import would refuse.
    await write(
      lineOf({ todos: todos.map(({ id, content, status, priority }) => ({ id, content, status, priority })) }),
    );
  } finally {
    bar.stop();
  }
  return { exported, deleted: keys.length - exported };
}

type Key = Omit<SessionKey, "owner">;

/** By create time, then session id, so that a source comes before its forks unless clocks disagree. */
function byCreateTime(a: Key, b: Key): number {
  return (
    a.createTimeMicros - b.createTimeMicros || (a.sessionId < b.sessionId ? -1 : a.sessionId > b.sessionId ? 1 : 0)
  );
}

/** All sessions of this owner, which is empty for none; all sessions when it is absent. */
async function keysOfOwner(storage: StorageManager, owner: string | undefined): Promise<Key[]> {
  const keys: Key[] = [];
  let after: string | undefined = "";
  while (after !== undefined) {
    const page: Awaited<ReturnType<StorageManager["scanSessions"]>> = await storage.scanSessions(after, PAGE);
    for (const key of page.keys) if (owner === undefined || owner === (key.owner ?? "")) keys.push(key);
    after = page.next;
  }
  return keys;
}

async function keysOf(storage: StorageManager, sessionIds: readonly string[]): Promise<Key[]> {
  const keys: Key[] = [];
  for (const sessionId of new Set(sessionIds)) {
    const snapshot = await storage.snapshotSession(sessionId);
    if (snapshot !== null) keys.push({ sessionId, createTimeMicros: snapshot.createTimeMicros });
  }
  return keys;
}

/**
 * Writes one session as of one moment. Resolves to false when it no longer exists, or no longer belongs to the owner,
 * if one was asked for.
 */
async function writeSession(
  storage: StorageManager,
  numbering: Numbering,
  key: SessionKey,
  write: Write,
): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    const snapshot = await storage.snapshotSession(key.sessionId);
    // Another session may have got the id since, and is not part of this export.
    if (snapshot?.createTimeMicros !== key.createTimeMicros) return false;
    if (key.owner !== undefined && key.owner !== (snapshot.owner ?? "")) return false;
    const spool = new Spool();
    try {
      const { session, fresh, keep } = numbering.draft(snapshot);
      await spool.add(lineOf({ session }));
      for (const range of fresh) await spoolMessages(storage, snapshot, range, spool);
      await spool.drain(write);
      keep();
      return true;
    } catch (error) {
      // What was read has been cleared away meanwhile, because the session was deleted or replaced.
      if (!(error instanceof DomainError) || error.code !== "aborted" || attempt === MAX_ATTEMPTS) throw error;
    } finally {
      await spool.close();
    }
  }
}

async function spoolMessages(
  storage: StorageManager,
  snapshot: SessionSnapshot,
  { log, first, last }: SessionSnapshot["messages"][number],
  spool: Spool,
): Promise<void> {
  for (let next = first; next <= last; ) {
    const messages = await storage.readStored(snapshot, { log, first: next, last });
    for (const message of messages) await spool.add(messageLine(message, snapshot.sessionId));
    next += messages.length;
  }
}

function lineOf(line: FileItem | FileHeader): string {
  return `${onOneLine(JSON.stringify(line))}\n`;
}

/** The line of a FileMessage, whose body is written as it is stored. */
function messageLine({ id, role, timestampMicros, originSessionId, body }: BackupMessage, sessionId: string): string {
  const { parts, metadata } = body.json;
  const origin = originSessionId === sessionId ? "" : `,"originSessionId":${JSON.stringify(originSessionId)}`;
  const front = JSON.stringify({ id, role, timestampMicros }).slice(0, -1);
  const ofBody = metadata === undefined ? `,"parts":${parts}` : `,"parts":${parts},"metadata":${metadata}`;
  return `{"message":${onOneLine(`${front}${ofBody}${origin}`)}}}\n`;
}
