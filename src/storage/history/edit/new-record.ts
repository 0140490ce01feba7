import type { Call } from "../../../domain/call.js";
import { DomainError } from "../../../domain/errors.js";
import { type Head, type HistoryContext, visibleSegments } from "../heads.js";
import type { AncestrySegment, NextRecord } from "../log-store.js";
import { ownerOf } from "../record-facts.js";
import { Again } from "../retries.js";
import type { Inserter } from "../write/inserter.js";

/** A record of revision 1 with a uid and an open log of its own. */
export function newRecord(
  context: HistoryContext,
  fields: Partial<NextRecord> & { readonly sessionId: string },
): NextRecord {
  const uid = context.options.newUid();
  const now = context.options.nowMicros();
  return {
    uid,
    parentId: "",
    forkPointId: "",
    inheritedCount: 0,
    title: "",
    createTimeMicros: now,
    updateTimeMicros: now,
    origin: null,
    revision: 1,
    sessionRevision: 1,
    segments: [],
    log: context.newLog(uid),
    lastTimestampMicros: 0,
    ancestry: [],
    undo: null,
    namedLogs: [],
    drafts: [],
    rollovers: { count: 0, atMs: 0 },
    dropped: [],
    edits: [],
    sources: [],
    deleted: false,
    markedAtMs: null,
    ...(context.counts.isOn && { isCounted: true }),
    ...fields,
  };
}

/** The ancestry of a child of this session: the session's own ancestry followed by its current messages. */
export async function ancestryUnder(
  context: HistoryContext,
  inserter: Inserter,
  parent: Head,
  call?: Call,
): Promise<readonly AncestrySegment[]> {
  const { sessionId, uid, ancestry } = parent.record;
  const visible = visibleSegments(parent).map((segment): AncestrySegment => {
    return ownerOf(segment.log) === uid ? { ...segment, sessionId } : { ...segment, sessionId, uid };
  });
  const all = [...ancestry, ...visible];
  const bytes = bytesOf(all);
  const { maxAncestryBytes } = context.options;
  // Rule: ancestry-bounded. A record stays small enough to be replaced at once, however long the chain of parents.
  if (bytes <= maxAncestryBytes) return all;
  // Only several segments can take less when they are merged.
  if (bytesOf([...ancestry, ...all.slice(-1)]) <= maxAncestryBytes) {
    await inserter.merge(parent, call);
    throw new Again();
  }
  throw tooLongChain(sessionId, bytes, maxAncestryBytes, " for another child");
}

export function tooLongChain(sessionId: string, bytes: number, maxBytes: number, what = ""): DomainError {
  return new DomainError(
    "failed_precondition",
    `Session ${JSON.stringify(sessionId)} has too long a chain of parents${what}: it would take ${bytes} bytes; at most ${maxBytes} are allowed`,
  );
}

/** The size of ancestry in a record, in bytes of JSON. */
export function bytesOf(ancestry: readonly AncestrySegment[]): number {
  return Buffer.byteLength(JSON.stringify(ancestry));
}
