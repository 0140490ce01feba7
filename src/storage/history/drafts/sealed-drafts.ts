import type { Call } from "../../../domain/call.js";
import type { Head, HistoryContext } from "../heads.js";
import type { DraftRef, Entry, SessionRecord } from "../log-store.js";
import { openDrafts } from "../record-facts.js";
import { readDraftState } from "./draft-finder.js";
import { withEnded } from "./draft-list.js";
import { holdMessageOf, possibleIdsOf } from "./draft-message.js";

/** The drafts of a head whose log is sealed. Those whose messages are in it, or are being added now, have ended. */
export async function draftsAfterSeal(
  context: HistoryContext,
  { record, seq }: Head,
  added: readonly string[] = [],
  call?: Call,
): Promise<SessionRecord["drafts"]> {
  const refs = openDrafts(record);
  if (refs.length === 0) return record.drafts;
  const ids = refs.flatMap(possibleIdsOf);
  // Rule: seal-ends-drafts.
  const found = seq === 0 ? [] : await context.store.findById([record.log], ids, call);
  const stored = found.filter((entry) => entry.seq <= seq);
  const ended = new Set<string>();
  for (const ref of refs) {
    const isAdded = possibleIdsOf(ref).some((id) => added.includes(id));
    if (isAdded || (await isAppended(context, ref, stored, call))) ended.add(ref.log);
  }
  return withEnded(record.drafts, ({ log }) => ended.has(log), "finished");
}

/** Whether one of these entries is the message of a draft, rather than one that has taken its id. */
async function isAppended(
  context: HistoryContext,
  ref: DraftRef,
  entries: readonly Entry[],
  call?: Call,
): Promise<boolean> {
  const own = entries.filter(({ id }) => possibleIdsOf(ref).includes(id));
  if (own.length === 0) return false;
  return holdMessageOf(ref, await readDraftState(context, ref.log, call), own);
}
