import type { Part } from "./chat-message.js";
import type { JsonObject } from "./json.js";
import type { Usage } from "./usage.js";

/** An addition to a draft. */
export type DraftDelta =
  | {
      readonly kind: "append_text";
      /** The last part with this id gets the text. Without one, a part of type `text` is added. */
      readonly partId: string;
      readonly text: string;
    }
  | {
      readonly kind: "put_part";
      /** Replaces the last part with its id. Without one, it is added. */
      readonly part: Part;
    };

/** A message that is being written, in its current state. */
export interface DraftMessage {
  readonly id: string;
  readonly sessionId: string;
  readonly role: string;
  /** Microseconds since 1970; absent when the message gets the time at which it is finished. */
  readonly timestampMicros?: number | undefined;
  readonly parts: readonly Part[];
  readonly metadata?: JsonObject | undefined;
  readonly usage?: Usage | undefined;
}

/** An open draft. */
export interface Draft {
  readonly message: DraftMessage;
  /** The version that the next change must name; counts from 1. */
  readonly version: number;
  /** Microseconds since 1970. */
  readonly startTimeMicros: number;
  /** When it was last extended, in microseconds since 1970. */
  readonly updateTimeMicros: number;
  /** Whether an abandoned draft is discarded rather than finished. */
  readonly discardWhenAbandoned: boolean;
}

/** A draft and the version that its next change must name. */
export interface DraftVersion {
  readonly messageId: string;
  readonly version: number;
}
