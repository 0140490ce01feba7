import type { Annotation } from "../../../src/domain/annotation.js";
import type { ChatMessage, NewChatMessage, Part } from "../../../src/domain/chat-message.js";
import { sameContent } from "../../../src/domain/chat-message.js";
import type { DraftDelta } from "../../../src/domain/draft.js";
import type { MessageIdentity } from "../../../src/domain/erasure.js";
import { DomainError, invalidArgument } from "../../../src/domain/errors.js";
import type { JsonObject } from "../../../src/domain/json.js";
import type { Labels } from "../../../src/domain/labels.js";
import type { Session } from "../../../src/domain/session.js";
import { NO_USAGE, plusUsage, sumsOf, type Usage } from "../../../src/domain/usage.js";
import { hasUsage } from "../../../src/domain/usage-text.js";

/**
 * A message as the naive model keeps it. `sessionId` is the session that shows it; `originSessionId` is the one that it
 * was written to.
 */
export type NaiveMessage = Omit<ChatMessage, "position"> & { readonly originSessionId: string };

interface Verdict {
  readonly end: "finished" | "discarded";
  readonly deltas: readonly DraftDelta[];
  readonly metadata?: JsonObject | undefined;
  readonly usage?: Usage | undefined;
}

/** A draft of the naive model: its first content, and each list of deltas that followed. */
export interface NaiveDraft {
  readonly message: NewChatMessage & { readonly id: string };
  readonly discardWhenAbandoned: boolean;
  readonly startTimeMicros: number;
  updateTimeMicros: number;
  readonly steps: (readonly DraftDelta[])[];
  verdict: Verdict | null;
  /** The id that its message has received because its own was taken. */
  spareId?: string;
  /** Whether the content of its deltas was erased, so that no retry of them is recognised. */
  isErased?: boolean;
}

/** What a session has received under an id. */
export interface NaiveUpload {
  readonly bytes: string;
  /** Whether anything has ever named it. */
  isNamed: boolean;
}

/** An annotation with the message that it is about. */
export interface NaiveAnnotation {
  readonly annotation: Annotation;
  readonly message: MessageIdentity;
}

/**
 * A session of the naive model. Its history is one array of messages, which is copied as a whole whenever it is shared.
 */
export interface NaiveSession {
  readonly uid: number;
  readonly sessionId: string;
  readonly parentId: string;
  readonly forkPointId: string;
  readonly inheritedCount: number;
  readonly createTimeMicros: number;
  /** How a fork or share was made. Empty for other sessions. */
  readonly origin: string;
  readonly sourceUid: number;
  ancestors: readonly NaiveMessage[];
  /** The uid of the session that shows each of the ancestors' messages. */
  ancestorUids: readonly number[];
  owner: string | undefined;
  title: string;
  metadata: JsonObject | undefined;
  labels: Labels;
  updateTimeMicros: number;
  revision: number;
  /** The revision with which it was brought back last; 0 when it never was. */
  broughtBackAs: number;
  /** Whether the real revision is 1 exactly when this one is. */
  isRevisionKnown: boolean;
  expireTimeMicros: number | undefined;
  /** The open drafts and those that have ended but were not swept, in the order in which they were started. */
  drafts: NaiveDraft[];
  messages: readonly NaiveMessage[];
  undo: readonly NaiveMessage[] | null;
  /** Also those of messages that it shows no more. */
  annotations: readonly NaiveAnnotation[];
  /** The attachments that were uploaded to it, by id. */
  readonly uploads: Map<string, NaiveUpload>;
}

export function toSession(session: NaiveSession): Session {
  const { sessionId, parentId, forkPointId, inheritedCount, title, metadata, labels, owner, revision } = session;
  return {
    sessionId,
    parentId,
    forkPointId,
    inheritedCount,
    title,
    metadata,
    labels,
    owner,
    createTimeMicros: session.createTimeMicros,
    updateTimeMicros: session.updateTimeMicros,
    messageCount: session.messages.length,
    revision,
    reverted: session.undo !== null,
  };
}

/** The session with the sums of usage over its messages, which are added up one by one. */
export function withUsage(session: NaiveSession): Session {
  let [usage, inheritedUsage] = [NO_USAGE, NO_USAGE];
  for (const message of session.messages) {
    if (!hasUsage(message.usage)) continue;
    if (message.originSessionId === session.sessionId) usage = plusUsage(usage, sumsOf(message.usage));
    else inheritedUsage = plusUsage(inheritedUsage, sumsOf(message.usage));
  }
  return usage.calls + inheritedUsage.calls === 0
    ? toSession(session)
    : { ...toSession(session), usage, inheritedUsage };
}

/** All that a session shows, oldest first, with its ancestors' messages from this one on. */
export function shown(session: NaiveSession, ancestorsFrom = Number.POSITIVE_INFINITY): readonly ChatMessage[] {
  const own = session.messages.map((message, position) => ({ ...message, position, sessionId: session.sessionId }));
  return [...session.ancestors.slice(ancestorsFrom), ...own];
}

/** The messages that its children show before their own. */
export function ancestryOfChild(session: NaiveSession): Pick<NaiveSession, "ancestors" | "ancestorUids"> {
  const own = session.messages.map((message) => ({ ...message, sessionId: session.sessionId }));
  return {
    ancestors: [...session.ancestors, ...own],
    ancestorUids: [...session.ancestorUids, ...own.map(() => session.uid)],
  };
}

/** The number of messages up to and including this one, or of all messages without it. */
export function lengthUpTo(session: NaiveSession, upToMessageId: string | undefined): number {
  if (upToMessageId === undefined) return session.messages.length;
  const place = session.messages.findIndex(({ id }) => id === upToMessageId);
  if (place < 0) throw invalidArgument(`Message ${upToMessageId} is not in session ${session.sessionId}`);
  return place + 1;
}

/** Inserts a message after all messages with the same or an earlier timestamp. */
export function insert(messages: readonly NaiveMessage[], message: NaiveMessage): readonly NaiveMessage[] {
  const later = messages.findIndex(({ timestampMicros }) => timestampMicros > message.timestampMicros);
  return later < 0 ? [...messages, message] : messages.toSpliced(later, 0, message);
}

export interface NaiveAppend {
  readonly messages: readonly NaiveMessage[];
  readonly position: number;
}

/**
 * Returns the session's messages after an append, and the position of the first appended one. `reserved`: ids that no
 * new message may have. `fill`: fills in what parts that are to be stored say of attachments.
 */
export function append(
  session: NaiveSession,
  given: readonly (NewChatMessage & { readonly id: string })[],
  expectedPosition: number | undefined,
  nowMicros: number,
  reserved: readonly string[] = [],
  fill = (parts: readonly Part[]) => parts,
): NaiveAppend {
  const known = new Map(session.messages.map((message) => [message.id, message]));
  for (const message of given) checkSame(known.get(message.id), message);
  if (given.some(({ id }) => !known.has(id) && reserved.includes(id))) {
    throw new DomainError("already_exists", "A message is a draft");
  }
  let messages = session.messages;
  for (const { id, role, parts, metadata, usage, timestampMicros } of given) {
    if (known.has(id)) continue;
    const time = timestampMicros ?? Math.max(nowMicros, messages.at(-1)?.timestampMicros ?? Number.NEGATIVE_INFINITY);
    const { sessionId } = session;
    messages = insert(messages, {
      id,
      sessionId,
      originSessionId: sessionId,
      role,
      parts,
      metadata,
      usage,
      timestampMicros: time,
    });
  }
  const first = given[0]?.id as string;
  const position = messages.findIndex(({ id }) => id === first);
  if (expectedPosition !== undefined && given.some(({ id }) => !known.has(id))) {
    const placeOf = ({ id }: { readonly id: string }) => messages.findIndex((message) => message.id === id);
    if (given.some((message, i) => placeOf(message) !== expectedPosition + i))
      throw new DomainError("aborted", "A message would get another position");
  }
  messages = messages.map((message) => (known.has(message.id) ? message : { ...message, parts: fill(message.parts) }));
  return { messages, position };
}

function checkSame(known: NaiveMessage | undefined, given: NewChatMessage): void {
  if (known === undefined) return;
  const sameTime = given.timestampMicros === undefined || given.timestampMicros === known.timestampMicros;
  if (!sameTime || !sameContent(known, given)) {
    throw new DomainError("already_exists", `Message ${known.id} exists with other content`);
  }
}
