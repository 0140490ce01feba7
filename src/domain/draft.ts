import type { Part } from "./chat-message.js";
import type { JsonObject } from "./json.js";

/** A piece that is added to a draft. */
export type DraftDelta =
  | {
      readonly kind: "append_text";
      /** The last part with this id gets the text; when there is none, a part of the type `text` is added. */
      readonly partId: string;
      readonly text: string;
    }
  | {
      readonly kind: "put_part";
      /** Takes the place of the last part with its id; when there is none, it is added. */
      readonly part: Part;
    };

/** A message that is being written, as it is now. */
export interface DraftMessage {
  readonly id: string;
  readonly sessionId: string;
  readonly role: string;
  /** Microseconds since 1970; absent when the message will get the time at which it is finished. */
  readonly timestampMicros?: number | undefined;
  readonly parts: readonly Part[];
  readonly metadata?: JsonObject | undefined;
}

/** An open draft. */
export interface Draft {
  readonly message: DraftMessage;
  /** The version that the next change follows; from 1. */
  readonly version: number;
  /** Microseconds since 1970. */
  readonly startTimeMicros: number;
  /** When it was extended last, microseconds since 1970. */
  readonly updateTimeMicros: number;
  /** Whether it is discarded, rather than finished, when nobody extends it any more. */
  readonly discardWhenAbandoned: boolean;
}

/** A draft, and the version that the next change of it follows. */
export interface DraftVersion {
  readonly messageId: string;
  readonly version: number;
}
