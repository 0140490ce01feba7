import type { Call } from "../../../domain/call.js";
import type { LogResult } from "../../storage-provider.js";
import { DraftEnded } from "../append/append-plan.js";
import type { Appender } from "../append/appender.js";
import { type Head, type HistoryContext, visibleSegments } from "../heads.js";
import { countBefore, type Located, locateOnHead } from "../read/lookup.js";
import type { FoundDraft } from "./draft-finder.js";
import type { DraftList } from "./draft-list.js";
import { holdMessageOf, messagesOf, possibleIdsOf, renamedIdOf } from "./draft-message.js";

/** Carries out the verdict at the end of a draft's log. Any process may do so at any time, even several at once. */
export class DraftCompleter {
  readonly #context: HistoryContext;
  readonly #appender: Appender;
  readonly #list: DraftList;

  constructor(context: HistoryContext, appender: Appender, list: DraftList) {
    this.#context = context;
    this.#appender = appender;
    this.#list = list;
  }

  /**
   * Appends the message of a finished draft, unless that was done already, and then marks the draft as ended in the
   * record. Resolves to the message's position and its id, which is another one if the draft's own id was taken.
   * Resolves to null when the draft was discarded, or when an edit has removed the message since.
   */
  async carryOut(draft: FoundDraft, call?: Call): Promise<LogResult | null> {
    const { record, ref, state } = draft;
    if (state.end !== "finished") {
      await this.#list.end(record, ref.log, "discarded", call);
      return null;
    }
    if (ref.end !== undefined) return this.#placeOf(draft, call);
    try {
      const result = await this.#append(draft, call);
      await this.#list.end(record, ref.log, "finished", call);
      return result;
    } catch (error) {
      if (error instanceof DraftEnded) return this.#placeOf(draft, call);
      throw error;
    }
  }

  #append({ record, ref, state }: FoundDraft, call?: Call): Promise<LogResult> {
    return this.#appender.appendDraft(
      record,
      messagesOf(ref, state),
      { log: ref.log, finishMicros: state.updateTimeMicros },
      call,
    );
  }

  /** The position of a finished draft's message now; null when it was removed, even if another one has its id now. */
  async #placeOf(draft: FoundDraft, call?: Call): Promise<LogResult | null> {
    const { record, ref } = draft;
    return this.#context.retrying(record.sessionId, call, async (saw) => {
      const head = await this.#context.need(record.sessionId, call);
      saw(head);
      const located = await locateOnHead(this.#context, head, possibleIdsOf(ref), call);
      const found = located.get(renamedIdOf(ref)) ?? located.get(ref.messageId);
      if (!found || !(await this.#isMessageOf(draft, found, head, call))) return null;
      return { messageIds: [found.entry.id], position: found.position };
    });
  }

  /**
   * Whether a message is the draft's own, which may have been updated since. An update keeps its time: the one that
   * StartDraft set, or else that of the verdict or of the message before it, whichever is later.
   */
  async #isMessageOf(
    { ref, state }: FoundDraft,
    { entry, position }: Located,
    head: Head,
    call?: Call,
  ): Promise<boolean> {
    if (holdMessageOf(ref, state, [entry])) return true;
    const { timestampMicros } = entry;
    if (ref.timestampMicros !== null) return timestampMicros === ref.timestampMicros;
    if (timestampMicros <= state.updateTimeMicros) return timestampMicros === state.updateTimeMicros;
    return (await countBefore(this.#context, visibleSegments(head), timestampMicros, call)) < position;
  }
}
