import type { Call } from "../../../domain/call.js";
import { isErased } from "../../../domain/erasure.js";
import { MessageBody } from "../../../domain/message-body.js";
import type { AttachmentRemoval } from "../attachments/attachment-removal.js";
import { bytesOf } from "../byte-counts.js";
import { kindOf } from "../drafts/draft-entry.js";
import { hasVerdict } from "../drafts/finish-check.js";
import type { HistoryContext } from "../heads.js";
import type { Entry, SessionRecord } from "../log-store.js";
import { ownerOf } from "../record-facts.js";
import { OPEN_END } from "../segments.js";
import type { ErasedPlaces } from "./erased-places.js";

/** The body of an emptied draft entry: it starts with nothing, or adds nothing. */
const NOTHING = MessageBody.of({ parts: [] });

/**
 * The logs of all drafts with this id that a session has had and that are still stored, whether or not its record
 * knows them. A draft with a single entry looks like a message, and is not among them.
 */
export async function draftLogs(
  { store }: HistoryContext,
  uid: string,
  messageId: string,
  call: Call,
): Promise<readonly string[]> {
  const owned = await store.findOwned(uid, messageId, call);
  const logs = owned.filter(({ seq }) => seq === 1).map(({ log }) => log);
  // A message that could not get its draft's id has the name of the draft's log as its id.
  if (ownerOf(messageId) === uid) logs.push(messageId);
  const drafts: string[] = [];
  for (const log of logs) {
    const [next] = (await store.readRange(log, 2, 2, {}, call)).entries;
    if (next !== undefined && kindOf(next.id) !== "started") drafts.push(log);
  }
  return drafts;
}

/** Those of these logs whose drafts have ended, if only because their session has. */
export async function endedLogs(
  context: HistoryContext,
  record: SessionRecord,
  logs: readonly string[],
  call: Call,
): Promise<readonly string[]> {
  if (record.deleted || context.isExpired(record)) return logs;
  const ended: string[] = [];
  for (const log of logs) if (await hasVerdict(context, log, call)) ended.push(log);
  return ended;
}

/**
 * Empties the logs of a session's drafts with this id that have ended but are not swept yet. A draft that became no
 * message counts as a copy of its own in `places`. Resolves to whether there was anything in them.
 */
export async function eraseDrafts(
  parts: OverwriteParts,
  record: SessionRecord,
  messageId: string,
  places: ErasedPlaces,
  call: Call,
): Promise<boolean> {
  const { context } = parts;
  const { store, options } = context;
  let isChanged = false;
  const logs = await draftLogs(context, record.uid, messageId, call);
  for (const log of await endedLogs(context, record, logs, call)) {
    let last: Entry | undefined;
    for (let first = 1; ; ) {
      const { entries } = await store.readRange(log, first, OPEN_END, { limit: options.chunk }, call);
      if (entries.length === 0) break;
      const left = entries.filter(({ body }) => holdsContent(body));
      await overwrite(parts, [record], left, () => NOTHING, call);
      isChanged ||= left.length > 0;
      last = entries.at(-1);
      first += entries.length;
    }
    if (last && kindOf(last.id) !== "finished") places.add({ log, seq: 1 }, false);
  }
  return isChanged;
}

/** What overwriting needs of the other parts of the engine. */
export interface OverwriteParts {
  readonly context: HistoryContext;
  readonly removal: AttachmentRemoval;
}

/** Gives entries another body that names no attachments. `records`: those whose own entries they may be. */
export async function overwrite(
  { context, removal }: OverwriteParts,
  records: readonly SessionRecord[],
  entries: readonly Entry[],
  bodyOf: (body: MessageBody) => MessageBody,
  call: Call,
): Promise<void> {
  if (entries.length === 0) return;
  const { store, counts, quotas } = context;
  await removal.doomAll(entries, call);
  const overwritten = entries.map((entry) => ({ ...entry, body: bodyOf(entry.body) }));
  await store.overwriteEntries(overwritten, call);
  for (const record of records) {
    const isOwn = ({ log }: Entry) => ownerOf(log) === record.uid;
    const own = entries.filter(isOwn);
    if (own.length > 0 && counts.counts(record)) quotas.note(record, bytesOf(overwritten.filter(isOwn)) - bytesOf(own));
  }
}

/**
 * Whether an entry of a draft has content left. An entry with the same timestamp as the message counts as a copy, so it
 * may already hold the body that marks an erased message, which does not count as content.
 */
function holdsContent(body: MessageBody): boolean {
  return !isErased(body) && (body.parts.length > 0 || body.metadata !== undefined || body.usage !== undefined);
}
