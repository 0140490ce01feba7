import type { Call } from "../../../domain/call.js";
import type { NewChatMessage } from "../../../domain/chat-message.js";
import type { DraftDelta, DraftVersion } from "../../../domain/draft.js";
import { DomainError } from "../../../domain/errors.js";
import type { FinishDraftOptions, LogResult, StartDraftOptions, StorageProvider } from "../../storage-provider.js";
import type { Appender } from "../append/appender.js";
import { attachmentIdsOf } from "../attachments/attachment-names.js";
import type { HistoryContext } from "../heads.js";
import type { DraftRef, SessionRecord } from "../log-store.js";
import { openDrafts } from "../record-facts.js";
import { Again } from "../retries.js";
import type { RecordReplacer } from "../write/record-replacer.js";
import { DraftCompleter } from "./draft-completer.js";
import type { DraftStep } from "./draft-entry.js";
import { checkCount, checkRoom, hasEnded, noDraft, otherVersion } from "./draft-errors.js";
import type { DraftFinder, FoundDraft } from "./draft-finder.js";
import { DraftList } from "./draft-list.js";
import { DraftStarter } from "./draft-starter.js";
import { DraftWriter } from "./draft-writer.js";
import { checkFinish } from "./finish-check.js";

/** Writes drafts. A draft is a log of deltas, and the first verdict in it decides how it ends. */
export class Drafts {
  readonly finder: DraftFinder;
  readonly completer: DraftCompleter;
  readonly #context: HistoryContext;
  readonly #writer: DraftWriter;
  readonly #starter: DraftStarter;

  /** `onWritten` is called with every change of a draft. */
  constructor(
    context: HistoryContext,
    finder: DraftFinder,
    replacer: RecordReplacer,
    appender: Appender,
    onWritten: (draft: FoundDraft) => void,
  ) {
    const list = new DraftList(context, replacer);
    const writer = new DraftWriter(context, finder, onWritten);
    const completer = new DraftCompleter(context, appender, list);
    this.#context = context;
    this.#writer = writer;
    this.#starter = new DraftStarter({ context, finder, list, writer, completer });
    this.finder = finder;
    this.completer = completer;
  }

  /** Implements {@link StorageProvider.startDraft}. */
  start(sessionId: string, message: NewChatMessage, options: StartDraftOptions = {}): Promise<DraftVersion> {
    return this.#starter.start(sessionId, message, options);
  }

  /** Implements {@link StorageProvider.extendDraft}. */
  async extend(
    sessionId: string,
    messageId: string,
    version: number,
    deltas: readonly DraftDelta[],
    call?: Call,
  ): Promise<number> {
    const step: DraftStep = { kind: "extended", deltas: deltas.map(copyOf) };
    const cached = this.finder.cached(sessionId, messageId, call);
    if (cached && cached.state.version === version && cached.state.end === null) {
      this.#checkExtension(cached, deltas);
      // A step that another process has stored already needs no room, so nothing is refused by what is cached.
      const hasRoom = this.#writer.refusalOf(cached, step, call) === null;
      const isPlain = attachmentIdsOfDeltas(deltas).length === 0;
      if (hasRoom && isPlain && (await this.#writer.write(cached, step, call))) return version + 1;
    }
    return this.#withDraft(sessionId, messageId, call, async (draft) => {
      const { state } = draft;
      const isRepeated = version < state.version && (await this.#writer.isStored(draft, version + 1, step, call));
      if (isRepeated) return version + 1;
      await this.#checkOpen(draft, call);
      if (version !== state.version) throw otherVersion(messageId, version, state.version);
      const filled = await this.#writer.fill(sessionId, step, call);
      this.#checkExtension(draft, filled.deltas);
      await this.#writer.checkRoom(draft, filled, call);
      if (!(await this.#writer.write(draft, filled, call, version))) throw new Again();
      return version + 1;
    });
  }

  #checkExtension(draft: FoundDraft, deltas: readonly DraftDelta[]): void {
    const { limits } = this.#context.options;
    checkRoom(draft, deltas, limits);
    // A renewal counts as one delta, because it takes a place in the log.
    checkCount(draft, Math.max(1, deltas.length), limits);
  }

  /** Implements {@link StorageProvider.finishDraft}. */
  finish(sessionId: string, messageId: string, options: FinishDraftOptions): Promise<LogResult> {
    const { version, deltas = [], metadata, usage } = options;
    const step: DraftStep = { kind: "finished", deltas: deltas.map(copyOf), ...structuredClone({ metadata, usage }) };
    return this.#withDraft(sessionId, messageId, options, async (draft) => {
      const { state } = draft;
      if (draft.ref.end === undefined && state.end === null) {
        if (version !== state.version) throw otherVersion(messageId, version, state.version);
        const filled = await this.#writer.fill(sessionId, step, options);
        checkRoom(draft, filled.deltas, this.#context.options.limits, { metadata, usage });
        await checkFinish(this.#context, draft, options);
        await this.#writer.checkRoom(draft, filled, options);
        if (!(await this.#writer.write(draft, filled, options, version))) throw new Again();
      } else if (version + 1 !== state.version || !(await this.#writer.isStored(draft, state.version, step, options))) {
        return await this.#refuseEnded(draft, options);
      }
      const result = await this.completer.carryOut(draft, options);
      if (result) return result;
      const text = `Draft ${JSON.stringify(messageId)} is finished, and its message has been removed since`;
      throw new DomainError("failed_precondition", text);
    });
  }

  /** Implements {@link StorageProvider.discardDraft}. */
  async discard(sessionId: string, messageId: string, call?: Call): Promise<void> {
    const draft = await this.finder.load(sessionId, messageId, call);
    if (draft === null || (await this.#discardFound(sessionId, draft, call)) === "discarded") return;
    throw hasEnded(messageId, "finished");
  }

  /**
   * Ends those of these drafts that the record names; a draft that is not finished by then is discarded. In an expired
   * session, whose messages nobody sees, only the verdict is written.
   */
  async endAll(record: SessionRecord, refs: readonly DraftRef[], call?: Call): Promise<void> {
    if (this.#context.isExpired(record)) {
      for (const ref of refs) await this.#discardLog(record, ref, call);
      return;
    }
    for (const { log, messageId } of refs) {
      const draft = await this.finder.load(record.sessionId, messageId, call);
      if (draft?.ref.log === log) await this.#discardFound(record.sessionId, draft, call);
    }
  }

  /** Writes a verdict after a version. The first verdict decides; resolves to whether this one was first. */
  async decide(draft: FoundDraft, step: DraftStep, call?: Call): Promise<boolean> {
    if (draft.state.end !== null || !(await this.#writer.write(draft, step, call))) return false;
    await this.completer.carryOut(draft, call);
    return true;
  }

  /**
   * Carries out the verdicts of the open drafts of a record that have this id, or whose log has this name. Resolves to
   * whether there were any.
   */
  async settle(record: SessionRecord, id: string, call?: Call): Promise<boolean> {
    let isChanged = false;
    for (const ref of openDrafts(record).filter(({ messageId, log }) => messageId === id || log === id)) {
      const draft = await this.finder.read(record, ref, this.#context.knownMs(), call);
      if (draft.state.end === null) continue;
      await this.completer.carryOut(draft, call);
      isChanged = true;
    }
    return isChanged;
  }

  /** Makes sure that nothing follows in the log of a draft. */
  #discardLog(record: SessionRecord, ref: DraftRef, call?: Call): Promise<void> {
    return this.#context.retrying(record.sessionId, call, async (saw) => {
      const now = await this.#context.store.readRecordByUid(record.uid, call);
      if (!now || now.deleted || !openDrafts(now).some(({ log }) => log === ref.log)) return;
      saw(now);
      const draft = await this.finder.read(now, ref, this.#context.knownMs(), call);
      if (draft.state.end !== null) return;
      if (!(await this.#writer.write(draft, { kind: "discarded" }, call))) throw new Again();
    });
  }

  /** Resolves to how it has ended. */
  #discardFound(sessionId: string, found: FoundDraft, call?: Call): Promise<"finished" | "discarded"> {
    const { messageId, log } = found.ref;
    return this.#context.retrying(sessionId, call, async (saw) => {
      const draft = await this.finder.load(sessionId, messageId, call);
      if (draft?.ref.log !== log) return "discarded";
      saw(draft.record);
      if (draft.ref.end !== undefined) return draft.ref.end;
      if (draft.state.end === null && !(await this.#writer.write(draft, { kind: "discarded" }, call)))
        throw new Again();
      const { end } = draft.state;
      await this.completer.carryOut(draft, call);
      return end ?? "discarded";
    });
  }

  /** Works on a draft that was just read, and starts over as long as somebody else was first. */
  #withDraft<T>(
    sessionId: string,
    messageId: string,
    call: Call | undefined,
    work: (draft: FoundDraft) => Promise<T>,
  ): Promise<T> {
    return this.#context.retrying(sessionId, call, async (saw) => {
      const draft = await this.finder.load(sessionId, messageId, call);
      if (draft === null || (draft.state.version === 0 && draft.ref.end === undefined)) throw noDraft(messageId);
      saw(draft.record);
      return work(draft);
    });
  }

  async #checkOpen(draft: FoundDraft, call?: Call): Promise<void> {
    if (draft.ref.end !== undefined || draft.state.end !== null) await this.#refuseEnded(draft, call);
  }

  /** Throws the error for a draft that has ended. Carries out its verdict first, so that the caller sees the result. */
  async #refuseEnded(draft: FoundDraft, call?: Call): Promise<never> {
    const { ref, state } = draft;
    if (ref.end === undefined) await this.completer.carryOut(draft, call);
    throw hasEnded(ref.messageId, ref.end ?? state.end ?? "discarded");
  }
}

/** A copy, so that later changes by the caller do not affect what is cached. */
function copyOf(delta: DraftDelta): DraftDelta {
  return delta.kind === "put_part" ? { ...delta, part: structuredClone(delta.part) } : { ...delta };
}

function attachmentIdsOfDeltas(deltas: readonly DraftDelta[]): readonly string[] {
  return attachmentIdsOf(deltas.flatMap((delta) => (delta.kind === "put_part" ? [delta.part] : [])));
}
