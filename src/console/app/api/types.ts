/** The JSON of the REST API: 64-bit integers are strings, and times are RFC 3339. */

import type { JsonObject, PartAttachment } from "../../../parts/part.js";

export type { Json, JsonObject, PartAttachment } from "../../../parts/part.js";

/** What the call of a model took. What is not known is absent or empty. */
export interface Usage {
  readonly model?: string;
  readonly provider?: string;
  readonly inputTokens?: string;
  readonly outputTokens?: string;
  readonly cachedInputTokens?: string;
  readonly reasoningTokens?: string;
  /** A decimal number. */
  readonly cost?: string;
  readonly currency?: string;
  readonly startTime?: string;
  readonly firstTokenTime?: string;
  /** Seconds, such as `1.5s`. */
  readonly duration?: string;
}

export interface Cost {
  readonly currency: string;
  readonly amount: string;
}

export interface UsageSums {
  readonly calls?: string;
  readonly inputTokens?: string;
  readonly outputTokens?: string;
  readonly cachedInputTokens?: string;
  readonly reasoningTokens?: string;
  readonly costs?: readonly Cost[];
  readonly duration?: string;
}

/** The sums of one group. Only the fields by which it was grouped are there. */
export interface UsageRow extends UsageSums {
  readonly day?: string;
  readonly model?: string;
  readonly provider?: string;
  readonly owner?: string;
  readonly sessionId?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly tool?: string;
  readonly durationP50?: string;
  readonly durationP95?: string;
  /** Of calls of a tool. */
  readonly failedCalls?: string;
}

export interface MessagePreview {
  readonly messageId: string;
  readonly role: string;
  readonly timestamp?: string;
  readonly text: string;
  readonly usage?: Usage;
  /** The error of a tool's call in the message; empty if none failed. */
  readonly error?: string;
}

export interface Session {
  readonly sessionId: string;
  readonly parentId: string;
  readonly forkPointId: string;
  readonly title: string;
  readonly metadata?: JsonObject;
  readonly labels?: Readonly<Record<string, string>>;
  /** Whose session it is; empty for nobody's. */
  readonly owner: string;
  readonly createTime: string;
  readonly updateTime: string;
  readonly expireTime?: string;
  readonly messageCount?: string;
  readonly lastMessage?: MessagePreview;
  readonly inheritedCount: string;
  readonly revision: string;
  readonly reverted: boolean;
  /** Of the messages that were first written to this session. */
  readonly usage?: UsageSums;
  /** Of all others that it shows. */
  readonly inheritedUsage?: UsageSums;
  /** When it was deleted; only for sessions that can be brought back. */
  readonly deleteTime?: string;
  readonly purgeTime?: string;
}

/** An attachment of a session. */
export interface Attachment extends PartAttachment {
  readonly createTime: string;
  readonly messageIds: readonly string[];
}

export interface Part {
  readonly id: string;
  readonly type: string;
  readonly text: string;
  readonly data?: JsonObject;
  readonly attachment?: PartAttachment;
}

export interface MessageInfo {
  readonly id: string;
  readonly role: string;
  readonly timestamp: string;
  readonly metadata?: JsonObject;
  readonly sessionId?: string;
  readonly position?: string;
  readonly originSessionId?: string;
  readonly usage?: Usage;
}

export interface Message {
  readonly info: MessageInfo;
  readonly parts: readonly Part[];
}

export interface Todo {
  readonly id: string;
  readonly content: string;
  readonly status: string;
  readonly priority: string;
}

export type Thumb = "up" | "down" | "";

/** A note or feedback on a message. */
export interface Annotation {
  readonly annotationId: string;
  readonly messageId: string;
  readonly thumb: Thumb;
  readonly text: string;
  readonly author: string;
  readonly createTime: string;
  readonly updateTime: string;
}

/** A message that is being written. */
export interface Draft {
  readonly message: Message;
  readonly version: string;
  readonly startTime: string;
}

export interface DraftDelta {
  readonly appendText?: { readonly partId: string; readonly text: string };
  readonly putPart?: { readonly part: Part };
}

/** An event of WatchMessages. The page ignores kinds that it does not know. */
export interface WatchEvent {
  readonly resumeToken: string;
  readonly appended?: Message;
  readonly draft?: Draft;
  readonly draftExtended?: {
    readonly messageId: string;
    readonly version: string;
    readonly deltas?: readonly DraftDelta[];
  };
  readonly draftEnded?: { readonly messageId: string; readonly finished: boolean };
  readonly truncated?: { readonly messageCount?: string };
  readonly updated?: Message;
  readonly deleted?: { readonly messageId: string; readonly position?: string };
}
