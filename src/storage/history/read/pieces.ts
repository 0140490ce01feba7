import type { Call } from "../../../domain/call.js";
import type { ChatMessage } from "../../../domain/chat-message.js";
import type { MessageQuery } from "../../../domain/page.js";
import { shownMessage } from "../../../domain/shown-message.js";
import { type Head, type HistoryContext, visibleSegments } from "../heads.js";
import type { AncestrySegment, Entry, Segment, SessionRecord } from "../log-store.js";
import { ownerOf } from "../record-facts.js";
import { ancestryGroups, OPEN_END, segmentLength, totalLength } from "../segments.js";
import { countBefore } from "./lookup.js";

/** A segment of a list of messages, with what the list says about them. */
export interface Piece extends Segment {
  readonly sessionId: string;
  /** The position of its first message; null for ancestors. */
  readonly position: number | null;
  /** Which ancestor shows it, counted from the oldest; undefined for the session's own messages. */
  readonly ancestor: number | undefined;
  /** Whether this is the open log, which may have grown beyond the piece. */
  readonly isOpen: boolean;
}

/** The pieces of a list. Without a head, the open log's piece has no known end. */
export async function piecesOf(
  context: HistoryContext,
  record: SessionRecord,
  head: Head | null,
  query: MessageQuery,
  call?: Call,
): Promise<Piece[]> {
  const groups = query.includeAncestors ? await ancestorPieces(context, record, call) : [];
  groups.push(ownPieces(record, head));
  const { sinceMicros, untilMicros } = query;
  if (sinceMicros === undefined && untilMicros === undefined) return groups.flat();
  // Timestamps never decrease within a group, but may from one group to the next.
  const between: Piece[] = [];
  for (const group of groups) {
    const from = sinceMicros === undefined ? 0 : await countBefore(context, group, sinceMicros, call);
    const to = untilMicros === undefined ? OPEN_END : await countBefore(context, group, untilMicros, call);
    between.push(...slicePieces(group, from, to));
  }
  return between;
}

/** The closed segments, and the open log without a known end. */
export function openSegments(record: SessionRecord): Segment[] {
  return [...record.segments, { log: record.log, first: 1, last: OPEN_END - totalLength(record.segments) - 1 }];
}

/** The pieces that hold messages `from` to `to - 1` of a list. */
export function slicePieces(pieces: readonly Piece[], from: number, to: number): Piece[] {
  const slices: Piece[] = [];
  let start = 0;
  for (const piece of pieces) {
    const length = segmentLength(piece);
    const skipped = Math.max(from - start, 0);
    const end = Math.min(to - start, length);
    if (skipped < end) {
      const position = piece.position === null ? null : piece.position + skipped;
      slices.push({ ...piece, first: piece.first + skipped, last: piece.first + end - 1, position });
    }
    start += length;
  }
  return slices;
}

/** The message of a list that an entry of one of its pieces holds. */
export function messageIn(piece: Piece, entry: Entry): ChatMessage {
  const position = piece.position === null ? undefined : piece.position + entry.seq - piece.first;
  return toMessage(entry, piece.sessionId, position);
}

export function toMessage(entry: Entry, sessionId: string, position: number | undefined): ChatMessage {
  const { id, role, timestampMicros, originSessionId, body } = entry;
  return shownMessage({ id, sessionId, role, timestampMicros, position, originSessionId }, body);
}

async function ancestorPieces(context: HistoryContext, record: SessionRecord, call?: Call): Promise<Piece[][]> {
  const groups = ancestryGroups(record.ancestry);
  const first = call?.access === undefined ? 0 : await firstVisible(context, groups, call);
  return groups
    .map((group, ancestor) => group.map((segment) => ({ ...segment, position: null, ancestor, isOpen: false })))
    .slice(first);
}

/** From which ancestor on the caller may see all of them. An id may belong to another session by now. */
async function firstVisible(
  context: HistoryContext,
  groups: readonly (readonly AncestrySegment[])[],
  call: Call,
): Promise<number> {
  const areVisible = await Promise.all(
    groups.map(async ([segment]) => {
      const { sessionId, uid, log } = segment as AncestrySegment;
      // Rule: ancestors-until-hidden.
      return (await context.visibleRecord(sessionId, call))?.uid === (uid ?? ownerOf(log));
    }),
  );
  // Rule: ancestors-until-hidden.
  return areVisible.lastIndexOf(false) + 1;
}

function ownPieces(record: SessionRecord, head: Head | null): Piece[] {
  const { sessionId } = record;
  const pieces: Piece[] = [];
  let position = 0;
  for (const segment of head ? visibleSegments(head) : openSegments(record)) {
    const isOpen = !head && segment.log === record.log;
    pieces.push({ ...segment, sessionId, position, ancestor: undefined, isOpen });
    position += segmentLength(segment);
  }
  return pieces;
}
