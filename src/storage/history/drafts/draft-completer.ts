import type { Call } from "../../../domain/call.js";
import { DomainError } from "../../../domain/errors.js";
import type { LogResult } from "../../storage-provider.js";
import { DraftTaken } from "../append/append-plan.js";
import type { Appender } from "../append/appender.js";
import type { HistoryContext } from "../heads.js";
import { locateOnHead } from "../read/lookup.js";
import type { FoundDraft } from "./draft-finder.js";
import type { DraftList } from "./draft-list.js";

/** Carries out what the last entry of a draft's log says. Any process may, at any time, and several at once. */
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
   * Appends the message of a finished draft, if nobody has, and then has the record know that the draft has ended. Answers the message's place; null when
   * the draft was discarded, or when an edit has removed the message since. already_exists: another message has its id.
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
      if (error instanceof DraftTaken) return this.#placeOf(draft, call);
      if (error instanceof DomainError && error.code === "already_exists") {
        await this.#list.end(record, ref.log, "discarded", call);
      }
      throw error;
    }
  }

  #append({ record, ref, state }: FoundDraft, call?: Call): Promise<LogResult> {
    const message = {
      id: ref.messageId,
      role: state.role,
      parts: state.content.parts,
      metadata: state.metadata,
      timestampMicros: ref.timestampMicros ?? undefined,
    };
    return this.#appender.appendDraft(record, message, { log: ref.log, finishMicros: state.updateTimeMicros }, call);
  }

  /** Where the message of a draft that was finished is now. */
  async #placeOf({ record, ref }: FoundDraft, call?: Call): Promise<LogResult | null> {
    return this.#context.retrying(record.sessionId, call, async (saw) => {
      const head = await this.#context.need(record.sessionId, call);
      saw(head);
      const found = (await locateOnHead(this.#context, head, [ref.messageId], call)).get(ref.messageId);
      return found ? { messageIds: [ref.messageId], position: found.position } : null;
    });
  }
}
