import type { Call } from "../../../domain/call.js";
import { type ChatMessage, type MessageChange, sameContent } from "../../../domain/chat-message.js";
import { invalidArgument, notFound } from "../../../domain/errors.js";
import { contentOf, MessageBody } from "../../../domain/message-body.js";
import { messageSize } from "../../../domain/message-size.js";
import { checkBytes } from "../../../domain/validate.js";
import type { RevisionOptions, StorageProvider } from "../../storage-provider.js";
import type { AttachmentNames } from "../attachments/attachment-names.js";
import { bytesOf } from "../byte-counts.js";
import { type Head, type HistoryContext, visibleSegments } from "../heads.js";
import type { Entry, Segment } from "../log-store.js";
import { entryAt, type Located, locateOnHead } from "../read/lookup.js";
import { toMessage } from "../read/pieces.js";
import { Again } from "../retries.js";
import { joinSegments, positionOf, sliceSegments } from "../segments.js";
import type { Inserter } from "../write/inserter.js";
import type { PlannedEdit, SideLog, SideLogs, Unplaced } from "../write/side-logs.js";
import { checkRevision, type Editor, type EditPlan, hasRevision } from "./editor.js";

/**
 * Edits of one message, which gets new content or is deleted. Its entry never changes, because forks may show it. New
 * content is written to a log that does not hold the message's id yet, and the record names that entry instead of the
 * old one.
 */
export class MessageEditor {
  readonly #context: HistoryContext;
  readonly #editor: Editor;
  readonly #inserter: Inserter;
  readonly #sideLogs: SideLogs;
  readonly #names: AttachmentNames;

  constructor(context: HistoryContext, editor: Editor, inserter: Inserter, sideLogs: SideLogs, names: AttachmentNames) {
    this.#context = context;
    this.#editor = editor;
    this.#inserter = inserter;
    this.#sideLogs = sideLogs;
    this.#names = names;
  }

  /** Implements {@link StorageProvider.updateMessage}. */
  update(sessionId: string, messageId: string, change: MessageChange, options: RevisionOptions): Promise<ChatMessage> {
    return this.#editor.edit(sessionId, options, async (head): Promise<EditPlan<ChatMessage>> => {
      const { entry, position } = await this.#find(head, messageId, options);
      checkRevision(head.record, options.expectedRevision);
      const updated = await this.#changed(head, entry, change, options);
      if (sameContent(contentOf(entry), contentOf(updated))) {
        return { result: toMessage({ ...entry, ...updated }, sessionId, position) };
      }
      await this.#context.quotas.checkBytes(head.record, bytesOf([updated]), options);
      const between = [{ log: "", first: 1, last: 1 }];
      await this.#makeRoom(head, withPlace(head, position, between), options);
      const committed = await this.#sideLogs.using(head.record, options, (side) =>
        this.#replace(side, head, entry, updated, options),
      );
      if (committed === null) throw new Again();
      return { result: toMessage({ ...entry, ...updated }, sessionId, committed), isCommitted: true };
    });
  }

  /**
   * Writes new content of an entry to a side log, and then names it instead of the entry, at whatever position that has
   * by then. Resolves to this position; null when the edit must be planned again.
   */
  async #replace(side: SideLog, head: Head, entry: Entry, updated: Unplaced, options: RevisionOptions) {
    const { log, seq } = entry;
    // Rule: erase-ends-copies. The new content may hold a part of the old one, so an entry that was read before the log
    // has its name is read again if others have changed the record in between.
    if (side.record.revision !== head.record.revision + 1) {
      const [again] = (await this.#context.store.readRange(log, seq, seq, {}, options)).entries;
      if (!again || !sameContent(contentOf(again), contentOf(entry))) return null;
    }
    if (!(await this.#sideLogs.append(side, head, 0, [updated], options))) return null;
    const most = this.#context.options.maxSegments + 2;
    const plan = async (now: Head): Promise<PlannedEdit<number> | null> => {
      const position = positionOf(visibleSegments(now), log, seq);
      if (position < 0 || !hasRevision(now.record, options.expectedRevision)) return null;
      const segments = withPlace(now, position, [{ log: side.log, first: 1, last: 1 }]);
      if (segments.length > most) return null;
      if (now.record.revision !== side.record.revision) {
        if (!(await this.#names.areThere(now, updated.body.attachments, options))) return null;
      }
      const { lastTimestampMicros } = now;
      const single = { kind: "updated" } as const;
      return { answer: position, change: { segments, lastTimestampMicros, undo: null, kept: position, single } };
    };
    return this.#sideLogs.commit(head, side, plan, options);
  }

  /** Implements {@link StorageProvider.deleteMessage}. */
  delete(sessionId: string, messageId: string, options: RevisionOptions): Promise<void> {
    return this.#editor.edit(sessionId, options, async (head): Promise<EditPlan<void>> => {
      const { position } = await this.#find(head, messageId, options);
      checkRevision(head.record, options.expectedRevision);
      const segments = withPlace(head, position, []);
      await this.#makeRoom(head, segments, options);
      const lastTimestampMicros = await this.#lastWithout(head, position, options);
      const single = { kind: "deleted", messageId } as const;
      return {
        result: undefined,
        change: { segments, lastTimestampMicros, undo: null, kept: position, single },
      };
    });
  }

  async #find(head: Head, messageId: string, call: Call): Promise<Located> {
    const located = (await locateOnHead(this.#context, head, [messageId], call)).get(messageId);
    if (!located) throw notFound("Message", messageId);
    return located;
  }

  /** The entry with its new content at the same time. */
  async #changed(head: Head, entry: Entry, change: MessageChange, call: Call): Promise<Unplaced> {
    const { id, timestampMicros, sessionId, originSessionId } = entry;
    const { role = entry.role, metadata = entry.body.metadata, usage = entry.body.usage } = change;
    if (change.timestampMicros !== undefined && change.timestampMicros !== timestampMicros) {
      throw invalidArgument("message.info.timestamp is not the message's own; a message keeps its time");
    }
    const named =
      change.parts === undefined
        ? { parts: entry.body.parts, attachments: entry.body.attachments }
        : await this.#names.fill(head, change.parts, call);
    const { parts } = named;
    const body = MessageBody.of({ parts, metadata, usage }, named.attachments);
    const size = messageSize({ id, timestampMicros, role, parts, metadata, usage }, undefined, body.sizes);
    checkBytes("message", size, this.#context.options.limits.messageBytes);
    return { id, timestampMicros, role, body, sessionId, originSessionId, remaining: 0 };
  }

  /** Merges segments, and makes the edit start over, when there would be too many of them. */
  async #makeRoom(head: Head, segments: readonly Segment[], call: Call): Promise<void> {
    if (segments.length <= this.#context.options.maxSegments || visibleSegments(head).length < 2) return;
    await this.#inserter.merge(head, call);
    throw new Again();
  }

  /** The timestamp of the last message without the one at a position; null when none is left. */
  async #lastWithout(head: Head, position: number, call: Call): Promise<number | null> {
    if (position < head.count - 1) return head.lastTimestampMicros;
    if (position === 0) return null;
    return (await entryAt(this.#context, visibleSegments(head), position - 1, call)).timestampMicros;
  }
}

/** The visible segments with the message at a position replaced by these. */
function withPlace(head: Head, position: number, instead: readonly Segment[]): Segment[] {
  const visible = visibleSegments(head);
  return joinSegments(sliceSegments(visible, 0, position), instead, sliceSegments(visible, position + 1));
}
