import { isDeepStrictEqual } from "node:util";
import { RangeMap } from "../../domain/range-map.js";
import type {
  BackupMessage,
  NumberRange,
  ReadNumbers,
  SessionImage,
  SessionSnapshot,
  SharedAttachment,
  SnapshotRange,
  WrittenRange,
} from "../../domain/session-image.js";
import type { StorageManager } from "../../storage/storage-manager.js";

/** Numbers of messages in the file, and where the existing session should have the same messages. */
interface Pair {
  readonly numbers: NumberRange;
  readonly stored: SnapshotRange;
}

/** Where messages of the file, and attachments by their numbers, are stored already. */
export interface Stored {
  readonly written: readonly WrittenRange[];
  readonly attachments: ReadonlyMap<number, SharedAttachment>;
}

const NOTHING: Stored = { written: [], attachments: new Map() };

/**
 * Finds the messages of a session of the file in the existing session with its id, so that an import that is run again
 * shares them with forks as the first run would have done. Empty when the existing session has other messages.
 */
export async function findStored(
  storage: StorageManager,
  image: SessionImage<NumberRange>,
  read: ReadNumbers,
): Promise<Stored> {
  const snapshot = await storage.snapshotSession(image.sessionId);
  if (snapshot === null) return NOTHING;
  const seen = new RangeMap<true>();
  const found: WrittenRange[] = [];
  const attachments = new Map<number, SharedAttachment>();
  for (const { numbers, stored } of pairsOf(image, snapshot)) {
    if (!stored.isOwn) continue;
    for (const part of seen.parts(numbers.first, numbers.last)) {
      if (part.known) continue;
      const first = stored.first + part.first - numbers.first;
      const place = { log: stored.log, first, last: first + part.last - part.first, ownerId: image.sessionId };
      if (!(await isSame(storage, snapshot, place, read(part), attachments))) return NOTHING;
      seen.add(part.first, part.last, true);
      found.push({ first: part.first, last: part.last, place });
    }
  }
  return { written: found, attachments };
}

function pairsOf(image: SessionImage<NumberRange>, snapshot: SessionSnapshot): Pair[] {
  const groups = image.ancestry.map(({ ranges }, i) => pair(ranges, snapshot.ancestry[i]?.ranges ?? []));
  return [...groups.flat(), ...pair(image.messages, snapshot.messages), ...pair(image.undo ?? [], snapshot.undo ?? [])];
}

/** Pairs the ranges of both lists, split so that they have equal lengths, until one list ends. */
function pair(numbers: readonly NumberRange[], stored: readonly SnapshotRange[]): Pair[] {
  const pairs: Pair[] = [];
  let [n, s] = [0, 0];
  let [skippedN, skippedS] = [0, 0];
  for (;;) {
    const [a, b] = [numbers[n], stored[s]];
    if (a === undefined || b === undefined) return pairs;
    const [first, start] = [a.first + skippedN, b.first + skippedS];
    const length = Math.min(a.last - first, b.last - start) + 1;
    const range = { ...b, first: start, last: start + length - 1 };
    pairs.push({ numbers: { first, last: first + length - 1 }, stored: range });
    [skippedN, skippedS] = [skippedN + length, skippedS + length];
    if (a.first + skippedN > a.last) [n, skippedN] = [n + 1, 0];
    if (b.first + skippedS > b.last) [s, skippedS] = [s + 1, 0];
  }
}

async function isSame(
  storage: StorageManager,
  snapshot: SessionSnapshot,
  place: WrittenRange["place"],
  ofFile: AsyncIterable<readonly BackupMessage[]>,
  attachments: Map<number, SharedAttachment>,
): Promise<boolean> {
  let next = place.first;
  let stored: BackupMessage[] = [];
  for await (const messages of ofFile) {
    while (stored.length < messages.length) {
      const more = await storage.readStored(snapshot, { ...place, first: next });
      next += more.length;
      stored.push(...more);
    }
    if (!isDeepStrictEqual(messages.map(comparable), stored.slice(0, messages.length).map(comparable))) return false;
    for (const [i, message] of messages.entries()) noteAttachments(message, stored[i], snapshot, attachments);
    stored = stored.slice(messages.length);
  }
  return true;
}

/** Notes where the attachments are stored that a message names, of those that the session owns. */
function noteAttachments(
  ofFile: BackupMessage,
  stored: BackupMessage | undefined,
  { uid, sessionId }: SessionSnapshot,
  attachments: Map<number, SharedAttachment>,
): void {
  const logs = new Map(stored?.body.attachments.map(({ attachmentId, log }) => [attachmentId, log]));
  for (const { number, attachmentId } of ofFile.attachments ?? []) {
    const log = logs.get(attachmentId);
    if (log?.startsWith(`${uid}.`)) attachments.set(number, { log, ownerId: sessionId });
  }
}

/** The message without absent fields. */
function comparable({ body, attachments: _attachments, ...rest }: BackupMessage): unknown {
  return JSON.parse(JSON.stringify({ ...rest, parts: body.parts, metadata: body.metadata, usage: body.usage }));
}
