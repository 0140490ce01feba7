import type { Call } from "../../../domain/call.js";
import type { NewChatMessage } from "../../../domain/chat-message.js";
import type { DraftVersion } from "../../../domain/draft.js";
import { DomainError } from "../../../domain/errors.js";
import { messageSize } from "../../../domain/message-size.js";
import { checkBytes } from "../../../domain/validate.js";
import type { StartDraftOptions, StorageProvider } from "../../storage-provider.js";
import { checkNotAhead } from "../append/append-job.js";
import type { Head, HistoryContext } from "../heads.js";
import type { DraftRef } from "../log-store.js";
import { locateOnHead } from "../read/lookup.js";
import { openDrafts } from "../record-facts.js";
import { Again } from "../retries.js";
import type { DraftCompleter } from "./draft-completer.js";
import type { DraftStep } from "./draft-entry.js";
import { hasEnded } from "./draft-errors.js";
import type { DraftFinder, FoundDraft } from "./draft-finder.js";
import type { DraftList } from "./draft-list.js";
import { DraftState } from "./draft-state.js";
import type { DraftWriter } from "./draft-writer.js";

interface StarterParts {
  readonly context: HistoryContext;
  readonly finder: DraftFinder;
  readonly list: DraftList;
  readonly writer: DraftWriter;
  readonly completer: DraftCompleter;
}

/** The draft that a caller wants to start. */
interface Wanted {
  readonly messageId: string;
  readonly isMade: boolean;
  readonly timestampMicros: number | undefined;
  readonly discardWhenAbandoned: boolean;
  readonly step: Extract<DraftStep, { kind: "started" }>;
}

/** Starts drafts: first the record names the log, and then the first entry is written. */
export class DraftStarter {
  readonly #parts: StarterParts;

  constructor(parts: StarterParts) {
    this.#parts = parts;
  }

  /** Implements {@link StorageProvider.startDraft}. */
  async start(sessionId: string, message: NewChatMessage, options: StartDraftOptions): Promise<DraftVersion> {
    const { context } = this.#parts;
    checkNotAhead([message], context.options);
    const messageId = message.id || context.options.newMessageId();
    const { role, parts, metadata, usage, timestampMicros } = message;
    const wanted: Wanted = {
      messageId,
      isMade: !message.id,
      timestampMicros,
      discardWhenAbandoned: options.discardWhenAbandoned ?? false,
      step: { kind: "started", messageId, role, ...structuredClone({ parts, metadata, usage }) },
    };
    return context.retrying(sessionId, options, async (saw) => {
      const head = await context.need(sessionId, options);
      saw(head);
      const ref = head.record.drafts.findLast((draft) => draft.messageId === messageId);
      if (ref)
        return this.#repeat(await this.#parts.finder.read(head.record, ref, head.atMs, options), wanted, options);
      return this.#begin(head, wanted, options);
    });
  }

  async #begin(head: Head, wanted: Wanted, call: Call): Promise<DraftVersion> {
    const { context, list, finder, writer } = this.#parts;
    const { messageId, timestampMicros, discardWhenAbandoned } = wanted;
    if (!wanted.isMade && (await locateOnHead(context, head, [messageId], call)).has(messageId)) {
      throw exists(head, messageId, "exists");
    }
    await this.#checkCount(head, call);
    await writer.checkRoom({ record: head.record, state: new DraftState() }, wanted.step, call);
    const ref: DraftRef = {
      log: context.newLog(head.record.uid),
      messageId,
      timestampMicros: timestampMicros ?? null,
      discardWhenAbandoned,
    };
    // A caller that is refused leaves no draft behind. What is named is looked up again once the draft is open.
    const { role, parts, metadata, usage, attachments } = await writer.fill(head.record.sessionId, wanted.step, call);
    if (attachments !== undefined) {
      // What was filled in counts.
      const size = messageSize({ id: messageId, role, parts, metadata, usage, timestampMicros });
      checkBytes("message", size, context.options.limits.messageBytes);
    }
    const record = await list.add(head.record, ref, call);
    if (!record) throw new Again();
    return this.#write(await finder.read(record, ref, head.atMs, call), wanted, call);
  }

  /** An earlier call has named the draft: either it has the same content, or its writer died before writing any. */
  async #repeat(draft: FoundDraft, wanted: Wanted, call: Call): Promise<DraftVersion> {
    const { ref, state, record } = draft;
    const { messageId, timestampMicros, discardWhenAbandoned } = wanted;
    const end = ref.end ?? state.end;
    if (end !== null) {
      if (ref.end === undefined) await this.#parts.completer.carryOut(draft, call);
      throw hasEnded(messageId, end);
    }
    const isSameRef =
      (timestampMicros === undefined || timestampMicros === ref.timestampMicros) &&
      discardWhenAbandoned === ref.discardWhenAbandoned;
    if (isSameRef && state.version === 0) return this.#write(draft, wanted, call);
    if (isSameRef && (await this.#parts.writer.isStored(draft, 1, wanted.step, call))) return { messageId, version: 1 };
    throw exists({ record }, messageId, "is a draft with other content");
  }

  async #write(draft: FoundDraft, { messageId, step }: Wanted, call: Call): Promise<DraftVersion> {
    const { writer } = this.#parts;
    // No attachment of the session is removed while a draft is open, which it is by now.
    const filled = await writer.fill(draft.record.sessionId, step, call);
    if (!(await writer.write(draft, filled, call, 0))) throw new Again();
    return { messageId, version: 1 };
  }

  /** Drafts that have ended do not count, even if the record does not know it yet. */
  async #checkCount({ record, atMs }: Head, call: Call): Promise<void> {
    const { context, finder, completer } = this.#parts;
    const { draftCount } = context.options.limits;
    const open = openDrafts(record);
    if (open.length < draftCount) return;
    for (const ref of open) {
      const draft = await finder.read(record, ref, atMs, call);
      if (draft.state.end === null) continue;
      await completer.carryOut(draft, call);
      throw new Again("A draft of the session has ended");
    }
    const session = `Session ${JSON.stringify(record.sessionId)}`;
    throw new DomainError(
      "resource_exhausted",
      `${session} has ${open.length} open drafts; at most ${draftCount} are allowed`,
    );
  }
}

function exists({ record }: Pick<Head, "record">, messageId: string, how: string): DomainError {
  const message = `Message ${JSON.stringify(messageId)} of session ${JSON.stringify(record.sessionId)}`;
  return new DomainError("already_exists", `${message} ${how}`);
}
