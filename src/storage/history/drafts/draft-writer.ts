import type { Call } from "../../../domain/call.js";
import type { Part } from "../../../domain/chat-message.js";
import { DomainError } from "../../../domain/errors.js";
import { AttachmentNames, attachmentIdsOf } from "../attachments/attachment-names.js";
import { bytesOf } from "../byte-counts.js";
import type { HistoryContext } from "../heads.js";
import { clearIfOrphaned } from "../write/orphans.js";
import { type DraftStep, sameStep, toEntry, toStep } from "./draft-entry.js";
import type { DraftFinder, FoundDraft } from "./draft-finder.js";

/** Writes steps to the logs of drafts. */
export class DraftWriter {
  readonly #context: HistoryContext;
  readonly #finder: DraftFinder;
  readonly #onWritten: (draft: FoundDraft) => void;
  readonly #names: AttachmentNames;

  /** `onWritten` is called with every step. */
  constructor(context: HistoryContext, finder: DraftFinder, onWritten: (draft: FoundDraft) => void) {
    this.#context = context;
    this.#finder = finder;
    this.#onWritten = onWritten;
    this.#names = new AttachmentNames(context);
  }

  /**
   * Writes a step right after a version of the draft, with one call to the store. Resolves to false when somebody else
   * has written there, or the record no longer names the draft as open; then the draft must be loaded again. A caller
   * that has awaited anything since it looked at the version must pass that version, because the state of a draft is
   * shared and may have advanced.
   */
  async write(draft: FoundDraft, step: DraftStep, call?: Call, version = draft.state.version): Promise<boolean> {
    const { record, ref, state } = draft;
    const { sessionId } = record;
    const timestampMicros = Math.max(this.#context.options.nowMicros(), state.updateTimeMicros);
    const entry = toEntry(step, { log: ref.log, seq: version + 1, sessionId, timestampMicros });
    try {
      // Rule: verdict-by-place.
      const stored = await this.#context.append(record, ref.log, entry.seq, [entry], call);
      if (stored !== 1) {
        this.#finder.forget(sessionId, ref.messageId);
        return false;
      }
      // Rule: late-append-reached.
      if (this.#context.isOld(draft.atMs)) await this.#checkReached(draft, call);
    } catch (error) {
      this.#finder.forget(sessionId, ref.messageId);
      throw error;
    }
    state.apply(entry);
    // A draft that has ended is not kept in memory.
    if (state.end !== null) this.#finder.forget(sessionId, ref.messageId);
    else this.#finder.grown(draft);
    this.#onWritten(draft);
    return true;
  }

  /**
   * Fills in what a step says of attachments, before it is written. invalid_argument: the session has no such
   * attachment.
   */
  async fill<Step extends DraftStep>(sessionId: string, step: Step, call?: Call): Promise<Step> {
    if (step.kind === "discarded") return step;
    const given =
      step.kind === "started" ? step.parts : step.deltas.flatMap((one) => ("part" in one ? [one.part] : []));
    if (attachmentIdsOf(given).length === 0) return step;
    const head = await this.#context.need(sessionId, call);
    const { parts, attachments } = await this.#names.fill(head, given, call);
    if (step.kind === "started") return { ...step, parts, attachments };
    const filled = parts[Symbol.iterator]();
    const deltas = step.deltas.map((one) => ("part" in one ? { ...one, part: filled.next().value as Part } : one));
    return { ...step, deltas, attachments };
  }

  /**
   * The error by which a quota refuses a step, or its draft's message if the step finishes the draft; null when there
   * is room. A promise only when the store must be asked.
   */
  refusalOf({ record, state }: Pick<FoundDraft, "record" | "state">, step: DraftStep, call?: Call) {
    const { counts, quotas } = this.#context;
    if (!counts.isOn) return null;
    const { sessionId } = record;
    const entry = toEntry(step, { log: "", seq: 1, sessionId, timestampMicros: 0 });
    const message = step.kind === "finished" ? state.content.bytes : 0;
    return quotas.refusalOfBytes(record, bytesOf([entry]) + message, call);
  }

  /** Throws `resource_exhausted` when a quota refuses a step. */
  async checkRoom(draft: Pick<FoundDraft, "record" | "state">, step: DraftStep, call?: Call): Promise<void> {
    const error = await this.refusalOf(draft, step, call);
    if (error) throw error;
  }

  /** Whether the entry at `seq` of the draft's log is a step of this kind and content. */
  async isStored({ ref }: FoundDraft, seq: number, step: DraftStep, call?: Call): Promise<boolean> {
    const { entries } = await this.#context.store.readRange(ref.log, seq, seq, {}, call);
    return entries[0] !== undefined && sameStep(toStep(entries[0]), step);
  }

  /** A write that took long counts only if the record still names its log. */
  async #checkReached({ record, ref, atMs }: FoundDraft, call?: Call): Promise<void> {
    const now = await this.#context.store.readRecordByUid(record.uid, call);
    if (now && !now.deleted && now.drafts.some(({ log, end }) => log === ref.log && end === undefined)) return;
    await clearIfOrphaned(this.#context, atMs, record.uid, call);
    throw new DomainError("unavailable", "The write took too long; whether it was stored is unknown");
  }
}
