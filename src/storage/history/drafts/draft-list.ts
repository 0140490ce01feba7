import type { Call } from "../../../domain/call.js";
import type { HistoryContext } from "../heads.js";
import type { DraftRef, SessionRecord } from "../log-store.js";
import { isOpenDraft } from "../record-facts.js";
import { Again } from "../retries.js";
import { nextOf, type RecordReplacer } from "../write/record-replacer.js";

/** How many ended drafts a record keeps, so that their ids are not used again at once. A sweep removes them earlier. */
const MOST_ENDED = 32;

/** The drafts that a record names. */
export class DraftList {
  readonly #context: HistoryContext;
  readonly #replacer: RecordReplacer;

  constructor(context: HistoryContext, replacer: RecordReplacer) {
    this.#context = context;
    this.#replacer = replacer;
  }

  /** Adds a draft to the record, so that entries may be appended to its log. Null when somebody else was first. */
  add(record: SessionRecord, ref: DraftRef, call?: Call): Promise<SessionRecord | null> {
    // Rule: named-logs-only.
    return this.#replacer.replace(record, { ...nextOf(record), drafts: [...record.drafts, ref] }, call);
  }

  /** Records that a draft's end has been carried out. */
  end({ uid, sessionId }: SessionRecord, log: string, end: NonNullable<DraftRef["end"]>, call?: Call): Promise<void> {
    return this.#context.retrying(sessionId, call, async (saw) => {
      const record = await this.#context.store.readRecordByUid(uid, call);
      if (!record || record.deleted || !record.drafts.some((one) => one.log === log && isOpenDraft(one))) return;
      saw(record);
      const drafts = withEnded(record.drafts, (one) => one.log === log, end);
      if (!(await this.#replacer.replace(record, { ...nextOf(record), drafts }, call))) throw new Again();
    });
  }
}

/** The list after the selected drafts have ended. If too many have ended, the oldest of them are dropped. */
export function withEnded(
  drafts: readonly DraftRef[],
  isMeant: (draft: DraftRef) => boolean,
  end: NonNullable<DraftRef["end"]>,
): readonly DraftRef[] {
  const after = drafts.map((draft) => (isOpenDraft(draft) && isMeant(draft) ? { ...draft, end } : draft));
  const tooMany = after.filter((draft) => !isOpenDraft(draft)).slice(0, -MOST_ENDED);
  return tooMany.length === 0 ? after : after.filter((draft) => !tooMany.includes(draft));
}
