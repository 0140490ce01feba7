import { signal } from "@preact/signals";
import type { Draft, DraftDelta, Part, WatchEvent } from "../api/types.js";

/** Messages of one session that are being written. */
export class Drafts {
  readonly open = signal<readonly Draft[]>([]);

  /** Forgets all drafts, because a watch that starts or resumes reports all open drafts again. */
  forget(): void {
    if (this.open.value.length > 0) this.open.value = [];
  }

  take({ draft, draftExtended, draftEnded }: WatchEvent): void {
    if (draft) this.open.value = [...this.#without(draft.message.info.id), draft];
    if (draftEnded) this.open.value = this.#without(draftEnded.messageId);
    if (draftExtended) {
      const { messageId, version, deltas = [] } = draftExtended;
      this.open.value = this.open.value.map((one) =>
        one.message.info.id === messageId ? { ...one, version, message: extended(one.message, deltas) } : one,
      );
    }
  }

  #without(messageId: string): readonly Draft[] {
    return this.open.value.filter(({ message }) => message.info.id !== messageId);
  }
}

function extended(message: Draft["message"], deltas: readonly DraftDelta[]): Draft["message"] {
  return { ...message, parts: deltas.reduce(withDelta, message.parts ?? []) };
}

/** Applies each delta to the last part with its id, or to a new part if there is none. */
function withDelta(parts: readonly Part[], { appendText, putPart }: DraftDelta): readonly Part[] {
  const id = appendText?.partId ?? putPart?.part.id ?? "";
  const index = parts.findLastIndex((part) => part.id === id);
  const old = parts[index];
  const part = putPart?.part ?? { id, type: "text", ...old, text: (old?.text ?? "") + (appendText?.text ?? "") };
  return index < 0 ? [...parts, part] : parts.with(index, part);
}
