import { checkFacts, namesNothing, partOf } from "../../../domain/attachment.js";
import type { Call } from "../../../domain/call.js";
import type { Part, PartAttachment } from "../../../domain/chat-message.js";
import type { NamedAttachment } from "../../../domain/message-body.js";
import type { Head, HistoryContext } from "../heads.js";
import type { StoredAttachment } from "../log-store.js";
import { AttachmentFinder } from "./attachment-finder.js";

/** Parts with what the service knows of the attachments that they name, and the logs of those. */
export interface NamedParts {
  readonly parts: readonly Part[];
  readonly attachments: readonly NamedAttachment[];
}

/** The ids of the attachments that parts name, each once. */
export function attachmentIdsOf(parts: readonly Part[]): readonly string[] {
  const ids = new Set<string>();
  for (const { attachment } of parts) if (attachment !== undefined) ids.add(attachment.attachmentId);
  return ids.size === 0 ? NONE : [...ids];
}

const NONE: readonly string[] = Object.freeze([]);
const NOTHING: ReadonlyMap<string, StoredAttachment> = new Map();

/** Looks up the attachments that messages and drafts name before they are written. */
export class AttachmentNames {
  readonly #finder: AttachmentFinder;

  constructor(context: HistoryContext) {
    this.#finder = new AttachmentFinder(context);
  }

  /**
   * Fills in what parts say of attachments. invalid_argument: the session has no such attachment, or a part says
   * something else of it. `draftLog`: the log of the draft whose message has these parts.
   */
  async fill(head: Head, parts: readonly Part[], call?: Call, draftLog?: string): Promise<NamedParts> {
    const [filled] = await this.fillAll(head, [parts], call, draftLog);
    return filled as NamedParts;
  }

  /** Fills in the parts of several messages, and looks up what they name together. */
  async fillAll(
    head: Head,
    messages: readonly (readonly Part[])[],
    call?: Call,
    draftLog?: string,
  ): Promise<readonly NamedParts[]> {
    const wanted = attachmentIdsOf(messages.flat());
    const found = wanted.length === 0 ? NOTHING : await this.#finder.findForWriting(head, wanted, draftLog, call);
    return messages.map((parts) => {
      const ids = attachmentIdsOf(parts);
      if (ids.length === 0) return { parts, attachments: [] };
      const known = ids.flatMap((id) => found.get(id) ?? []);
      const attachments = known.map(({ attachmentId, log }) => ({ attachmentId, log }));
      return { parts: parts.map((part) => filledPart(head, part, found, draftLog)), attachments };
    });
  }

  /** Whether everything that was filled in for an earlier head may be written after this one. */
  async areThere(
    head: Head,
    attachments: readonly NamedAttachment[],
    call?: Call,
    draftLog?: string,
  ): Promise<boolean> {
    if (attachments.length === 0) return true;
    const ids = attachments.map(({ attachmentId }) => attachmentId);
    const found = await this.#finder.findForWriting(head, ids, draftLog, call);
    return attachments.every(({ attachmentId, log }) => found.get(attachmentId)?.log === log);
  }
}

function filledPart(
  { record }: Head,
  part: Part,
  found: ReadonlyMap<string, StoredAttachment>,
  draftLog: string | undefined,
): Part {
  if (part.attachment === undefined) return part;
  const { attachmentId } = part.attachment;
  const known = found.get(attachmentId);
  // What a draft names cannot be refused any more when it is finished. An erasure may have taken it away.
  if (known === undefined && draftLog !== undefined) return { ...part, attachment: missing(part.attachment) };
  if (known === undefined) throw namesNothing(attachmentId, record.sessionId);
  checkFacts(part.attachment, known);
  return { ...part, attachment: partOf(known) };
}

function missing(attachment: PartAttachment): PartAttachment {
  return { ...attachment, missing: true };
}
