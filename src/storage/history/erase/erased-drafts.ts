import type { Call } from "../../../domain/call.js";
import { isErased } from "../../../domain/erasure.js";
import { MessageBody } from "../../../domain/message-body.js";
import { kindOf } from "../drafts/draft-entry.js";
import { hasVerdict } from "../drafts/finish-check.js";
import type { HistoryContext } from "../heads.js";
import type { SessionRecord } from "../log-store.js";
import { openDrafts, ownerOf } from "../record-facts.js";
import { OPEN_END } from "../segments.js";

/** The body of an emptied draft entry: it starts with nothing, or adds nothing. */
const NOTHING = MessageBody.of({ parts: [] });

/**
 * Empties the logs of a session's drafts of a message that have ended but are not swept yet, whether or not the record
 * knows it. Resolves to whether there was anything in them.
 */
export async function eraseDrafts(
  context: HistoryContext,
  record: SessionRecord,
  messageId: string,
  call: Call,
): Promise<boolean> {
  const open = new Set(openDrafts(record).map(({ log }) => log));
  const { store, options } = context;
  let isChanged = false;
  const owned = await store.findOwned(record.uid, messageId, call);
  const logs = owned.filter(({ seq }) => seq === 1).map(({ log }) => log);
  // A message that could not get its draft's id has the name of the draft's log as its id.
  if (ownerOf(messageId) === record.uid) logs.push(messageId);
  for (const log of logs) {
    if (open.has(log) && !(await hasVerdict(context, log, call))) continue;
    const [next] = (await store.readRange(log, 2, 2, {}, call)).entries;
    if (next === undefined || kindOf(next.id) === "started") continue;
    for (let first = 1; ; ) {
      const { entries } = await store.readRange(log, first, OPEN_END, { limit: options.chunk }, call);
      if (entries.length === 0) break;
      const left = entries.filter(({ body }) => holdsContent(body));
      if (left.length > 0) {
        await store.overwriteEntries(
          left.map((entry) => ({ ...entry, body: NOTHING })),
          call,
        );
      }
      isChanged ||= left.length > 0;
      first += entries.length;
    }
  }
  return isChanged;
}

/**
 * Whether an entry of a draft has content left. An entry with the same timestamp as the message counts as a copy, so it
 * may already hold the body that marks an erased message, which does not count as content.
 */
function holdsContent(body: MessageBody): boolean {
  return !isErased(body) && (body.parts.length > 0 || body.metadata !== undefined);
}
