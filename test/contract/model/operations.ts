import type { Thumb } from "../../../src/domain/annotation.js";
import type { NewChatMessage } from "../../../src/domain/chat-message.js";
import type { DraftDelta } from "../../../src/domain/draft.js";
import type { JsonObject } from "../../../src/domain/json.js";
import type { Labels } from "../../../src/domain/labels.js";
import type { MessageQuery } from "../../../src/domain/page.js";
import type { UsageQuery } from "../../../src/domain/usage-groups.js";

export const SESSIONS = ["a", "b", "c", "d"] as const;

export interface GivenAppend {
  readonly messages: readonly NewChatMessage[];
  readonly expectedPosition: number | undefined;
}

export interface DraftChange {
  readonly session: string;
  readonly message: string;
  readonly deltas: readonly DraftDelta[];
  /** How many versions the writer is behind the draft. */
  readonly behind: number;
  /** The resulting version, which the model knows. */
  readonly version?: number | undefined;
}

/** One call, or one step of something that takes several. */
export type Operation =
  | {
      readonly op: "create";
      readonly session: string;
      readonly parent?: string;
      readonly title?: string;
      readonly labels?: Labels | undefined;
    }
  | {
      readonly op: "update";
      readonly session: string;
      readonly title?: string | undefined;
      readonly labels?: Labels | undefined;
      readonly onlyIfFirst: boolean;
    }
  | {
      readonly op: "append";
      readonly session: string;
      readonly appends: readonly GivenAppend[];
      /** Whether the pool makes the session when it is missing. */
      readonly creates?: boolean | undefined;
    }
  | { readonly op: "turn"; readonly session: string; readonly appends: readonly GivenAppend[] }
  | {
      readonly op: "truncate" | "revert";
      readonly session: string;
      readonly message: string | null;
      readonly onlyIfFirst?: true | undefined;
    }
  | {
      readonly op: "updateMessage";
      readonly session: string;
      readonly message: string;
      /** The new role and text. Without them nothing changes. */
      readonly role: string | undefined;
      readonly onlyIfFirst?: true | undefined;
    }
  | {
      readonly op: "deleteMessage";
      readonly session: string;
      readonly message: string;
      readonly onlyIfFirst?: true | undefined;
    }
  | { readonly op: "unrevert" | "delete" | "undelete" | "expire" | "count" | "describe"; readonly session: string }
  | { readonly op: "get"; readonly session: string; readonly message: string }
  | {
      readonly op: "fork" | "share" | "copy";
      readonly session: string;
      readonly target: string;
      readonly upTo: string | undefined;
      readonly onlyIfFirst?: true | undefined;
    }
  | {
      readonly op: "read";
      readonly session: string;
      readonly ancestors: boolean;
      readonly limit: number | undefined;
      readonly offset: number | undefined;
    }
  | {
      readonly op: "list";
      readonly session: string;
      readonly limit: number;
      readonly offset: number;
      readonly query: MessageQuery;
    }
  /** Continues the list of this slot, or begins one. */
  | {
      readonly op: "page";
      readonly slot: number;
      readonly session: string;
      readonly limit: number;
      readonly query: MessageQuery;
    }
  | { readonly op: "load"; readonly slot: number; readonly session: string; readonly limit: number }
  | { readonly op: "sessions"; readonly parent: string; readonly labels: readonly string[]; readonly limit: number }
  /** Reads all pages of a search, if the store can search. */
  | { readonly op: "search"; readonly word: string; readonly labels: readonly string[]; readonly limit: number }
  /** Brings the slot's follower up to date, and then disconnects it. */
  | { readonly op: "follow"; readonly slot: number; readonly session: string }
  | {
      readonly op: "start";
      readonly session: string;
      readonly message: NewChatMessage & { readonly id: string };
      readonly discardWhenAbandoned: boolean;
    }
  | ({ readonly op: "extend" } & DraftChange)
  | ({
      readonly op: "finish";
      readonly metadata: JsonObject | undefined;
      readonly expectedPosition: number | undefined;
    } & DraftChange)
  | { readonly op: "discard"; readonly session: string; readonly message: string }
  | { readonly op: "drafts"; readonly session: string }
  /** Lets enough time pass without a delta that every open draft is ended. */
  | { readonly op: "abandon" }
  | { readonly op: "erase"; readonly session: string; readonly message: string }
  | { readonly op: "upload"; readonly session: string; readonly attachment: string; readonly bytes: string }
  | { readonly op: "download" | "deleteAttachment"; readonly session: string; readonly attachment: string }
  | { readonly op: "attachments"; readonly session: string }
  | {
      readonly op: "annotate";
      readonly session: string;
      readonly annotation: string;
      readonly message: string;
      readonly thumb: Thumb;
      readonly text: string;
    }
  | {
      readonly op: "updateAnnotation";
      readonly session: string;
      readonly annotation: string;
      readonly thumb: Thumb | undefined;
      readonly text: string | undefined;
    }
  | { readonly op: "deleteAnnotation"; readonly session: string; readonly annotation: string }
  /** Reads all pages of the deleted sessions. */
  | { readonly op: "deleted"; readonly limit: number }
  /** Reads all pages of a sum of usage. */
  | { readonly op: "sum"; readonly query: UsageQuery; readonly limit: number }
  /** Reads all pages of the annotations of a message, or of all messages. */
  | { readonly op: "annotations"; readonly session: string; readonly message: string; readonly limit: number }
  /** Makes the session expire after this many microseconds. Null: never. */
  | { readonly op: "expireLater"; readonly session: string; readonly afterMicros: number | null }
  /** Gives the session another owner; empty for none. */
  | { readonly op: "give"; readonly session: string; readonly owner: string }
  /** Moves the clock that stamps messages. */
  | { readonly op: "later" }
  | { readonly op: "sweep" }
  /** Lets enough time pass that everything read before counts as stale. */
  | { readonly op: "wait" };

/** An operation, the index of the provider that performs it, and the owner to whom the caller is bound, if any. */
export type Step = Operation & { readonly by: number; readonly as?: string | undefined };
