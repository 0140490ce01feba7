import type { AttachmentContent } from "../../domain/attachment.js";
import { DomainError } from "../../domain/errors.js";
import { onOneLine } from "../../domain/json.js";
import { MessageBody } from "../../domain/message-body.js";
import type { BackupMessage, SessionKey, SessionSnapshot } from "../../domain/session-image.js";
import type { RootPool } from "../../pool/root-pool.js";
import type { Pools } from "../../pools.js";
import type { StorageManager } from "../../storage/storage-manager.js";
import { withPools } from "../with-pools.js";
import { pieceLine } from "./attachment-lines.js";
import { type BackupOptions, type ExportRequest, type ExportScope, exportScope } from "./export-scope.js";
import { type NumberedSession, Numbering } from "./numbering.js";
import { type Write, writeOutput } from "./output.js";
import { attachedBytes, progressBar } from "./progress-bar.js";
import {
  countNamespaces,
  countSessions,
  FILE_HEADER,
  type FileHeader,
  type FileItem,
  type NamedNumber,
} from "./session-file.js";
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
  if (request.audit !== undefined) request.audit.summary = { sessions: exported };
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
  { namespace, sessions, keys: given, owner, attachments = true }: BackupOptions = {},
): Promise<ExportReport> {
  const storage = pool.storage as StorageManager;
  const found = () => (sessions === undefined ? keysOfOwner(storage, owner) : keysOf(storage, sessions));
  const keys = given === undefined ? await found() : [...given];
  const isWhole = sessions === undefined && owner === undefined && given === undefined;
  const numbering = new Numbering();
  const bar = progressBar("Exporting", "sessions{attached}");
  bar.start(keys.length, 0, { attached: "" });
  const attached = attachedBytes((text) => bar.update({ attached: text }));
  let exported = 0;
  try {
    await write(lineOf({ ...FILE_HEADER, namespace }));
    for (const key of keys.sort(byCreateTime)) {
      const writing = { storage, numbering, withAttachments: attachments, onBytes: attached };
      if (await writeSession(writing, { ...key, owner }, write)) exported += 1;
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

/** What the sessions of a backup are written with. */
interface Writing {
  readonly storage: StorageManager;
  readonly numbering: Numbering;
  readonly withAttachments: boolean;
  /** Hears how many bytes of attachments were read, each time. */
  readonly onBytes: (bytes: number) => void;
}

/**
 * Writes one session as of one moment. Resolves to false when it no longer exists, or no longer belongs to the owner,
 * if one was asked for.
 */
async function writeSession(writing: Writing, key: SessionKey, write: Write): Promise<boolean> {
  const { storage, numbering } = writing;
  for (let attempt = 1; ; attempt++) {
    const snapshot = await storage.snapshotSession(key.sessionId);
    // Another session may have got the id since, and is not part of this export.
    if (snapshot?.createTimeMicros !== key.createTimeMicros) return false;
    if (key.owner !== undefined && key.owner !== (snapshot.owner ?? "")) return false;
    const spool = new Spool();
    try {
      const draft = numbering.draft(snapshot);
      await spool.add(lineOf({ session: draft.session }));
      const attachments: AttachmentContent[] = [];
      for (const range of draft.fresh)
        attachments.push(...(await spoolMessages(writing, snapshot, draft, range, spool)));
      for (const one of attachments) await spoolAttachment(one, writing, spool);
      await spool.drain(write);
      draft.keep();
      return true;
    } catch (error) {
      // What was read has been cleared away meanwhile, because the session was deleted or replaced.
      if (!(error instanceof DomainError) || error.code !== "aborted" || attempt === MAX_ATTEMPTS) throw error;
    } finally {
      await spool.close();
    }
  }
}

/** Resolves to the attachments that these messages are the first to name. */
async function spoolMessages(
  { storage, withAttachments }: Writing,
  snapshot: SessionSnapshot,
  draft: NumberedSession,
  { log, first, last }: SessionSnapshot["messages"][number],
  spool: Spool,
): Promise<AttachmentContent[]> {
  const fresh: AttachmentContent[] = [];
  const numberOf = async (target: string): Promise<number | undefined> => {
    const known = draft.attachment(target);
    if (known !== undefined) return known;
    const content = await storage.readStoredAttachment(snapshot, target);
    if (content === null) return undefined;
    fresh.push(content);
    return draft.addAttachment(target);
  };
  for (let next = first; next <= last; ) {
    const messages = await storage.readStored(snapshot, { log, first: next, last });
    for (const message of messages) {
      const named: NamedNumber[] = [];
      for (const { attachmentId, log: target } of withAttachments ? message.body.attachments : []) {
        const number = await numberOf(target);
        if (number !== undefined) named.push([attachmentId, number]);
      }
      await spool.add(messageLine(message, named, snapshot.sessionId));
    }
    next += messages.length;
  }
  return fresh;
}

async function spoolAttachment({ attachment, pieces }: AttachmentContent, { onBytes }: Writing, spool: Spool) {
  const { attachmentId, mediaType, name, size, sha256, createTimeMicros } = attachment;
  await spool.add(lineOf({ attachment: { attachmentId, mediaType, name, size, sha256, createTimeMicros } }));
  for await (const piece of pieces) {
    await spool.add(pieceLine(piece));
    onBytes(piece.length);
  }
}

function lineOf(line: FileItem | FileHeader): string {
  return `${onOneLine(JSON.stringify(line))}\n`;
}

/** The line of a FileMessage, whose body is written as it is stored. `named`: what it names that is in the file. */
function messageLine(message: BackupMessage, named: readonly NamedNumber[], sessionId: string): string {
  const { id, role, timestampMicros, originSessionId } = message;
  const { parts, metadata } = marked(message.body, named).json;
  const { usage } = message.body;
  const origin = originSessionId === sessionId ? "" : `,"originSessionId":${JSON.stringify(originSessionId)}`;
  const front = JSON.stringify({ id, role, timestampMicros }).slice(0, -1);
  const ofBody = metadata === undefined ? `,"parts":${parts}` : `,"parts":${parts},"metadata":${metadata}`;
  const ofUsage = usage === undefined ? "" : `,"usage":${JSON.stringify(usage)}`;
  const attachments = named.length === 0 ? "" : `,"attachments":${JSON.stringify(named)}`;
  return `{"message":${onOneLine(`${front}${ofBody}${ofUsage}${origin}${attachments}`)}}}\n`;
}

/** A body whose parts say of each attachment that is stored, but not in the file, that it is missing. */
function marked(body: MessageBody, named: readonly NamedNumber[]): MessageBody {
  const left = new Set(body.attachments.map(({ attachmentId }) => attachmentId));
  for (const [attachmentId] of named) left.delete(attachmentId);
  if (left.size === 0) return body;
  const parts = body.parts.map((part) =>
    part.attachment !== undefined && left.has(part.attachment.attachmentId)
      ? { ...part, attachment: { ...part.attachment, missing: true as const } }
      : part,
  );
  return MessageBody.of({ parts, metadata: body.metadata, usage: body.usage });
}
