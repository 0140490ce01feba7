import { type AttachmentPage, LISTED_MESSAGES, type ListedAttachment } from "../../../domain/attachment.js";
import type { Call } from "../../../domain/call.js";
import { type Head, type HistoryContext, visibleSegments } from "../heads.js";
import type { Naming, Segment, StoredAttachment } from "../log-store.js";
import { openDrafts } from "../record-facts.js";
import { logsOf, OPEN_END } from "../segments.js";

/** How many namings are read at a time. */
const BATCH = 1000;

/** Finds the attachments that a session shows. */
export class AttachmentFinder {
  readonly #context: HistoryContext;

  constructor(context: HistoryContext) {
    this.#context = context;
  }

  /**
   * The attachments with these ids that a session has: those that a message shows, one that an unrevert would bring
   * back, or a draft; and uploads of its own that nothing names yet. By id.
   */
  async find(head: Head, ids: readonly string[], call?: Call): Promise<Map<string, StoredAttachment>> {
    return this.#find(head, reachable(head), ids, call);
  }

  /** A session's own upload with an id, whatever names it, or else what {@link find} finds. */
  async ownOrShown(head: Head, id: string, call?: Call): Promise<StoredAttachment | undefined> {
    const [own] = await this.#context.attachments.find(head.record.uid, [id], call);
    return own ?? (await this.find(head, [id], call)).get(id);
  }

  /**
   * Those that a message may come to name which is written after `head`: what the session shows, and all its own
   * uploads, because one that was uploaded again may be named only by messages that are not shown any more. What only a
   * draft or an unrevert shows does not count if it was uploaded to another session, because an edit might take it away
   * while the message is written. `draftLog`: the log of the draft whose message it is.
   */
  async findForWriting(
    head: Head,
    ids: readonly string[],
    draftLog: string | undefined,
    call?: Call,
  ): Promise<Map<string, StoredAttachment>> {
    const { uid } = head.record;
    const found = new Map<string, StoredAttachment>();
    // An upload of its own is the one that the session shows with the id, if it shows any. However many messages name
    // it, they need not be read.
    const own = ids.length === 0 ? [] : await this.#context.attachments.find(uid, ids, call);
    for (const attachment of own) found.set(attachment.attachmentId, attachment);
    const left = ids.filter((id) => !found.has(id));
    if (left.length === 0) return found;
    const shown = [...visibleOrLater(head), ...(draftLog === undefined ? [] : [wholeLog(draftLog)])];
    for (const [id, attachment] of await this.#findShown(shown, left, call)) found.set(id, attachment);
    return found;
  }

  /** A page of the attachments that the messages and drafts of a session show, by id. */
  async list(head: Head, afterId: string, limit: number, call?: Call): Promise<AttachmentPage> {
    const { attachments } = this.#context;
    const shown = [...visibleSegments(head), ...draftLogs(head)];
    const logs = logsOf(shown);
    const found = new Map<string, { readonly namings: Naming[] }>();
    let isLast = logs.length === 0;
    for (let after = afterId; !isLast && found.size <= limit; ) {
      const namings = await attachments.listNamings(logs, after, BATCH, call);
      isLast = namings.length < BATCH;
      const last = namings.at(-1)?.attachmentId as string;
      // All namings of an id are looked at together, because any of them may be the one that is shown.
      const isOfOne = !isLast && last === namings[0]?.attachmentId;
      const complete = isLast ? namings : namings.filter((one) => one.attachmentId !== last);
      const whole = isOfOne ? await attachments.findNamings(logs, [last], call) : complete;
      for (const naming of whole) {
        after = naming.attachmentId;
        if (!isWithin(shown, naming)) continue;
        const known = found.get(naming.attachmentId) ?? { namings: [] };
        found.set(naming.attachmentId, known);
        if (known.namings.length < LISTED_MESSAGES) known.namings.push(naming);
      }
    }
    const page = [...found.values()].slice(0, limit);
    const { attachments: listed, end } = await this.#listed(head, page, call);
    const last = end < found.size ? page[end - 1]?.namings[0] : undefined;
    if (last === undefined) return { attachments: listed };
    return { attachments: listed, next: { sessionUid: head.record.uid, attachmentId: last.attachmentId } };
  }

  /** As many of the first as fit into a page, but at least one, and how many of these were looked at. */
  async #listed(head: Head, page: readonly { readonly namings: readonly Naming[] }[], call?: Call) {
    const { attachments, store, options } = this.#context;
    const drafts = new Map(openDrafts(head.record).map(({ log, messageId }) => [log, messageId]));
    // A message that names several attachments is read once.
    const ids = new Map<string, string | undefined>();
    const idOf = async ({ log, seq }: Naming) => {
      const place = `${log} ${seq}`;
      if (!ids.has(place)) ids.set(place, (await store.readRange(log, seq, seq, {}, call)).entries[0]?.id);
      return ids.get(place);
    };
    const listed: ListedAttachment[] = [];
    let bytes = 0;
    for (const [i, { namings }] of page.entries()) {
      const attachment = await attachments.findLog((namings[0] as Naming).target, call);
      if (attachment === null) continue;
      const messageIds = new Set<string>();
      for (const naming of namings) {
        const id = drafts.get(naming.log) ?? (await idOf(naming));
        if (id !== undefined) messageIds.add(id);
      }
      const one = { ...attachment, messageIds: [...messageIds] };
      bytes += listedSize(one);
      if (listed.length > 0 && bytes > options.limits.pageBytes) return { attachments: listed, end: i };
      listed.push(one);
    }
    return { attachments: listed, end: page.length };
  }

  async #find(head: Head, shown: readonly Segment[], ids: readonly string[], call?: Call) {
    const { attachments } = this.#context;
    const found = await this.#findShown(shown, ids, call);
    const left = ids.filter((id) => !found.has(id));
    for (const own of left.length === 0 ? [] : await attachments.find(head.record.uid, left, call)) {
      const [naming] = await attachments.namings(own.log, undefined, 1, call);
      if (naming === undefined) found.set(own.attachmentId, own);
    }
    return found;
  }

  async #findShown(shown: readonly Segment[], ids: readonly string[], call?: Call) {
    const { attachments } = this.#context;
    const found = new Map<string, StoredAttachment>();
    const namings = (await attachments.findNamings(logsOf(shown), ids, call)).filter((one) => isWithin(shown, one));
    const targets = new Map(namings.map(({ attachmentId, target }) => [attachmentId, target]));
    for (const [id, target] of targets) {
      const attachment = await attachments.findLog(target, call);
      if (attachment) found.set(id, attachment);
    }
    return found;
  }
}

/** No fewer bytes than it takes in an answer as protobuf. */
function listedSize({ attachmentId, mediaType, name, messageIds }: ListedAttachment): number {
  const texts = [attachmentId, mediaType, name, ...messageIds];
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text) + 4, 128);
}

export function isWithin(segments: readonly Segment[], { log, seq }: Naming): boolean {
  return segments.some((one) => one.log === log && one.first <= seq && seq <= one.last);
}

/** The visible messages, and those that have been appended since. */
function visibleOrLater({ record }: Head): readonly Segment[] {
  return [...record.segments, wholeLog(record.log)];
}

function draftLogs({ record }: Head): readonly Segment[] {
  return openDrafts(record).map(({ log }) => wholeLog(log));
}

function reachable(head: Head): readonly Segment[] {
  return [...visibleOrLater(head), ...(head.record.undo?.segments ?? []), ...draftLogs(head)];
}

export function wholeLog(log: string): Segment {
  return { log, first: 1, last: OPEN_END };
}
