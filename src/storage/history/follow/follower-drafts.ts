import type { ChatMessage } from "../../../domain/chat-message.js";
import type { Draft } from "../../../domain/draft.js";
import type { FollowEvent, FollowPosition } from "../../../domain/page.js";

/** What a tail knows of drafts. */
export interface KnownDrafts {
  readonly open: readonly Draft[];
  /** How drafts have ended lately, by the ids of their messages: true when they were finished. */
  readonly ends: ReadonlyMap<string, boolean>;
}

interface Told extends Pick<Draft, "version" | "startTimeMicros"> {
  /** Whether a message with the draft's id was told since. */
  readonly hasMessage: boolean;
}

/**
 * The drafts that one follower was told of. When events for it were dropped, it is told how these drafts differ from
 * the present ones.
 */
export class ToldDrafts {
  readonly #told = new Map<string, Told>();

  /** Notes an event that the follower gets. */
  note(event: FollowEvent): void {
    if (event.kind === "draft") {
      const { message, version, startTimeMicros } = event.draft;
      this.#told.set(message.id as string, { version, startTimeMicros, hasMessage: false });
    } else if (event.kind === "draft_extended") {
      this.#change(event.messageId, { version: event.version });
    } else if (event.kind === "appended") {
      this.#change(event.message.id, { hasMessage: true });
    } else if (event.kind === "draft_ended") {
      this.#told.delete(event.messageId);
    }
  }

  /** The ends of drafts that were discarded, which come before whatever else has changed. */
  *discarded({ open, ends }: KnownDrafts, at: FollowPosition): Generator<FollowEvent> {
    for (const messageId of this.#ended(open)) {
      if (ends.get(messageId) === false) yield { kind: "draft_ended", messageId, finished: false, at };
    }
  }

  /** The end of a draft that has become this message, which the follower was just told. */
  *endedBy({ id }: ChatMessage, { open }: KnownDrafts, at: FollowPosition): Generator<FollowEvent> {
    if (this.#ended(open).includes(id)) yield { kind: "draft_ended", messageId: id, finished: true, at };
  }

  /** All that the follower still has to be told to know the open drafts. */
  *missed({ open, ends }: KnownDrafts, at: FollowPosition): Generator<FollowEvent> {
    for (const messageId of this.#ended(open)) {
      const finished = ends.get(messageId) ?? this.#told.get(messageId)?.hasMessage ?? false;
      yield { kind: "draft_ended", messageId, finished, at };
    }
    for (const draft of open) {
      if (this.#told.get(draft.message.id as string)?.version !== draft.version) yield { kind: "draft", draft, at };
    }
  }

  /** The ids of drafts that are not among the open ones any more. */
  #ended(open: readonly Draft[]): readonly string[] {
    const isOpen = (id: string, { startTimeMicros }: Told) =>
      open.some((draft) => draft.message.id === id && draft.startTimeMicros === startTimeMicros);
    return [...this.#told].filter(([id, told]) => !isOpen(id, told)).map(([id]) => id);
  }

  #change(messageId: string, change: Partial<Told>): void {
    const told = this.#told.get(messageId);
    if (told) this.#told.set(messageId, { ...told, ...change });
  }
}
