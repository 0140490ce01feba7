import type { ChatMessage } from "../../../domain/chat-message.js";
import type { Draft } from "../../../domain/draft.js";
import type { FollowEvent, FollowPosition } from "../../../domain/page.js";

/** The drafts of a session as a tail has emitted them. */
export interface TailDrafts {
  readonly open: readonly Draft[];
  /** How drafts have ended lately, by the ids of their messages: true when they were finished. */
  readonly ends: ReadonlyMap<string, boolean>;
}

interface KnownDraft extends Pick<Draft, "version" | "startTimeMicros"> {
  /** Whether the follower has got a message with the draft's id since. */
  readonly hasMessage: boolean;
}

/**
 * The drafts that one follower knows. When events for it were dropped, this says which events bring it from the drafts
 * that it knows to the present ones.
 */
export class FollowerDrafts {
  readonly #known = new Map<string, KnownDraft>();

  /** Notes an event that the follower gets. */
  note(event: FollowEvent): void {
    if (event.kind === "draft") {
      const { message, version, startTimeMicros } = event.draft;
      this.#known.set(message.id as string, { version, startTimeMicros, hasMessage: false });
    } else if (event.kind === "draft_extended") {
      this.#change(event.messageId, { version: event.version });
    } else if (event.kind === "appended") {
      this.#change(event.message.id, { hasMessage: true });
    } else if (event.kind === "draft_ended") {
      this.#known.delete(event.messageId);
    }
  }

  /** The ends of drafts that were discarded, which come before whatever else has changed. */
  *discarded({ open, ends }: TailDrafts, at: FollowPosition): Generator<FollowEvent> {
    for (const messageId of this.#ended(open)) {
      if (ends.get(messageId) === false) yield { kind: "draft_ended", messageId, finished: false, at };
    }
  }

  /** The end of a draft that has become this message, which the follower has just got. */
  *endedBy({ id }: ChatMessage, { open }: TailDrafts, at: FollowPosition): Generator<FollowEvent> {
    if (this.#ended(open).includes(id)) yield { kind: "draft_ended", messageId: id, finished: true, at };
  }

  /** The events that the follower still needs to know the open drafts. */
  *missed({ open, ends }: TailDrafts, at: FollowPosition): Generator<FollowEvent> {
    for (const messageId of this.#ended(open)) {
      const finished = ends.get(messageId) ?? this.#known.get(messageId)?.hasMessage ?? false;
      yield { kind: "draft_ended", messageId, finished, at };
    }
    for (const draft of open) {
      if (this.#known.get(draft.message.id as string)?.version !== draft.version) yield { kind: "draft", draft, at };
    }
  }

  /** The ids of drafts that are not among the open ones any more. */
  #ended(open: readonly Draft[]): readonly string[] {
    const isOpen = (id: string, { startTimeMicros }: KnownDraft) =>
      open.some((draft) => draft.message.id === id && draft.startTimeMicros === startTimeMicros);
    return [...this.#known].filter(([id, known]) => !isOpen(id, known)).map(([id]) => id);
  }

  #change(messageId: string, change: Partial<KnownDraft>): void {
    const known = this.#known.get(messageId);
    if (known) this.#known.set(messageId, { ...known, ...change });
  }
}
