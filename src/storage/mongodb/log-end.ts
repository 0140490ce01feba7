import type { Collection } from "mongodb";
import type { Call } from "../../domain/call.js";
import type { Tail } from "../history/log-store.js";
import { type LogDocument, MAX_SEQ, type MessageDocument } from "./entry-document.js";
import type { MongoCommands } from "./mongo-commands.js";

/** The end of a log, found by reading it downwards. */
export interface LogEnd {
  /** The place of the last message, even when its batch is unfinished; 0 when there is none. */
  readonly stored: number;
  /** The last message of the last complete batch; null when none was found. */
  readonly whole: TailDocument | null;
  readonly isSealed: boolean;
  /** Whether a seal stands further ahead, with free places before it. */
  readonly isWalled: boolean;
}

type TailDocument = Pick<MessageDocument, "seq" | "id" | "timestamp" | "owed" | "seal">;
type Found = Pick<LogDocument, "seq" | "id" | "seal"> & Partial<TailDocument>;

const FIELDS = { _id: 0, seq: 1, id: 1, timestamp: 1, owed: 1, seal: 1 };
/** The last message and the one before it, which are enough unless seals or an unfinished batch are on top. */
const TOP = 2;
const FIRST_BLOCK = 64;
const MOST_BLOCK = 4096;

/**
 * Reads the end of a log: two documents when the log is open and its last batch is whole, and growing blocks downwards
 * when seals or an unfinished batch are on top. A message and the seal right after it never change, so reading in
 * several steps is safe.
 */
export async function readLogEnd(
  messages: Collection<LogDocument>,
  commands: MongoCommands,
  log: string,
  call?: Call,
): Promise<LogEnd> {
  const found: Found[] = [];
  for (let limit = TOP; ; limit = limit === TOP ? FIRST_BLOCK : Math.min(limit * 8, MOST_BLOCK)) {
    const below = found.at(-1)?.seq ?? MAX_SEQ;
    const block = await commands.read(call, (limits) =>
      messages
        .find({ log, seq: { $gte: 1, $lt: below } }, { ...limits, projection: FIELDS, limit, batchSize: limit + 1 })
        .sort({ seq: -1 })
        .toArray(),
    );
    found.push(...(block as unknown as Found[]));
    const isAll = block.length < limit;
    const end = endOf([...found].reverse(), isAll);
    if (end) return end;
  }
}

export function tailOf({ stored, whole, isSealed }: LogEnd): Tail {
  const last = whole && { seq: whole.seq, id: whole.id, timestampMicros: Number(whole.timestamp) };
  const isUnfinished = stored > (whole?.seq ?? 0);
  return { last, state: isSealed ? "sealed" : isUnfinished ? "unfinished" : "open", isNamed: true };
}

/**
 * `found` holds, in ascending order, the documents from some place up to the top of the log. Below a message there are
 * no gaps. The log ends at the first gap or seal, and whatever follows is not part of it. Returns null when more has to
 * be read.
 */
function endOf(found: readonly Found[], isAll: boolean): LogEnd | null {
  const base = found[0];
  if (base?.seal && !isAll) return null;
  let stored = base && !base.seal ? base.seq - 1 : 0;
  let whole: TailDocument | null = null;
  let count = 0;
  // Rule: tail-first-gap.
  for (; isMessageAt(found[count], stored + 1); count++) {
    const message = found[count] as TailDocument;
    stored = message.seq;
    if (!message.owed) whole = message;
  }
  if (!whole && !isAll) return null;
  return {
    stored,
    whole,
    isSealed: found[count]?.seal === true && found[count]?.seq === stored + 1,
    isWalled: found.slice(count).some(({ seal }) => seal),
  };
}

function isMessageAt(document: Found | undefined, seq: number): boolean {
  return document?.seq === seq && !document.seal;
}
