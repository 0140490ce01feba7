import { type NewChatMessage, type Part, sameContent } from "../../../src/domain/chat-message.js";
import type { Draft, DraftDelta, DraftVersion } from "../../../src/domain/draft.js";
import { isErased } from "../../../src/domain/erasure.js";
import { DomainError, notFound } from "../../../src/domain/errors.js";
import type { JsonObject } from "../../../src/domain/json.js";
import type { FinishDraftOptions, LogResult, StartDraftOptions } from "../../../src/storage/storage-provider.js";
import { append, type NaiveDraft, type NaiveSession } from "./naive-session.js";

/** How many drafts of one session may be open. */
export const DRAFT_COUNT = 3;

export function openDrafts({ drafts }: NaiveSession): readonly NaiveDraft[] {
  return drafts.filter(({ verdict }) => verdict === null);
}

/**
 * The place of the last entry. A draft has one entry for its beginning, one for each list of deltas, and one for its
 * end.
 */
export function versionOf({ steps, verdict }: NaiveDraft): number {
  return 1 + steps.length + (verdict === null ? 0 : 1);
}

export function findDraft({ drafts }: NaiveSession, messageId: string): NaiveDraft | undefined {
  return drafts.findLast(({ message }) => message.id === messageId);
}

export function startDraft(
  session: NaiveSession,
  message: NewChatMessage & { readonly id: string },
  { discardWhenAbandoned = false }: StartDraftOptions,
  nowMicros: number,
  fill: (parts: readonly Part[]) => readonly Part[],
): DraftVersion {
  const { id: messageId } = message;
  const there = findDraft(session, messageId);
  if (there?.verdict) throw ended(messageId);
  if (there) {
    const sameTime = message.timestampMicros === undefined || message.timestampMicros === there.message.timestampMicros;
    const isSame = discardWhenAbandoned === there.discardWhenAbandoned && sameContent(message, there.message);
    if (!sameTime || !isSame) throw taken(messageId);
    return { messageId, version: 1 };
  }
  if (session.messages.some(({ id }) => id === messageId)) throw taken(messageId);
  if (openDrafts(session).length >= DRAFT_COUNT) throw new DomainError("resource_exhausted", "Too many drafts");
  const times = { startTimeMicros: nowMicros, updateTimeMicros: nowMicros };
  const stored = { ...message, parts: fill(message.parts) };
  session.drafts.push({ message: stored, discardWhenAbandoned, ...times, steps: [], verdict: null });
  return { messageId, version: 1 };
}

export function extendDraft(
  session: NaiveSession,
  messageId: string,
  version: number,
  deltas: readonly DraftDelta[],
  nowMicros: number,
): number {
  const draft = needDraft(session, messageId);
  if (version < versionOf(draft) && areSame(draft.steps[version - 1], deltas)) return version + 1;
  if (draft.verdict !== null) throw ended(messageId);
  checkVersion(draft, version);
  draft.steps.push(deltas);
  draft.updateTimeMicros = Math.max(nowMicros, draft.updateTimeMicros);
  return version + 1;
}

export function finishDraft(
  session: NaiveSession,
  messageId: string,
  { version, deltas = [], metadata, usage, expectedPosition }: FinishDraftOptions,
  nowMicros: number,
): LogResult {
  const draft = needDraft(session, messageId);
  const { verdict } = draft;
  if (verdict !== null) {
    const isSame =
      areSame(verdict.deltas, deltas) &&
      JSON.stringify([verdict.metadata, verdict.usage]) === JSON.stringify([metadata, usage]);
    if (version + 1 !== versionOf(draft) || verdict.end !== "finished" || !isSame) throw ended(messageId);
    const place = (id = "") => session.messages.findIndex((message) => message.id === id);
    const id = place(draft.spareId) >= 0 ? (draft.spareId as string) : messageId;
    if (place(id) < 0) throw ended(messageId);
    return { messageIds: [id], position: place(id) };
  }
  checkVersion(draft, version);
  if (session.messages.some(({ id }) => id === messageId)) throw taken(messageId);
  const message = messageOf(draft, deltas, metadata, usage);
  const appended = append(session, [message], expectedPosition, Math.max(nowMicros, draft.updateTimeMicros));
  session.messages = appended.messages;
  session.undo = null;
  draft.verdict = { end: "finished", deltas, metadata, usage };
  return { messageIds: [messageId], position: appended.position };
}

export function discardDraft(session: NaiveSession, messageId: string): void {
  const draft = findDraft(session, messageId);
  if (draft?.verdict?.end === "finished") throw ended(messageId);
  if (draft) draft.verdict ??= { end: "discarded", deltas: [] };
}

/** Ends an open draft that has timed out. `spareId`: the id that its message gets if its own is taken. */
export function abandonDraft(session: NaiveSession, draft: NaiveDraft, spareId: string, nowMicros: number): void {
  if (draft.discardWhenAbandoned) {
    draft.verdict = { end: "discarded", deltas: [] };
    return;
  }
  const metadata = { interrupted: true };
  const message = messageOf(draft, [], metadata);
  draft.verdict = { end: "finished", deltas: [], metadata };
  const there = session.messages.find(({ id }) => id === message.id);
  const sameTime = message.timestampMicros === undefined || message.timestampMicros === there?.timestampMicros;
  if (there && (isErased(there) || (sameTime && sameContent(there, message)))) return;
  if (there) draft.spareId = spareId;
  const metadataOfSpare = { ...message.metadata, original_message_id: message.id };
  const given = there ? { ...message, id: spareId, metadata: metadataOfSpare } : message;
  const atMicros = Math.max(nowMicros, draft.updateTimeMicros);
  session.messages = append(session, [given], undefined, atMicros).messages;
  session.undo = null;
}

export function shownDraft(draft: NaiveDraft, sessionId: string): Draft {
  const { message, discardWhenAbandoned, startTimeMicros, updateTimeMicros } = draft;
  const { id, role, timestampMicros, metadata, usage } = message;
  const shown = { id, sessionId, role, timestampMicros, parts: partsOf(draft, []), metadata, usage };
  return { message: shown, version: versionOf(draft), startTimeMicros, updateTimeMicros, discardWhenAbandoned };
}

function messageOf(
  draft: NaiveDraft,
  deltas: readonly DraftDelta[],
  metadata: JsonObject | undefined,
  usage = draft.message.usage,
) {
  const { message } = draft;
  const merged = message.metadata || metadata ? { ...message.metadata, ...metadata } : undefined;
  return { ...message, parts: partsOf(draft, deltas), metadata: merged, usage };
}

function partsOf({ message, steps }: NaiveDraft, more: readonly DraftDelta[]): readonly Part[] {
  const parts = [...message.parts];
  for (const delta of [...steps.flat(), ...more]) {
    const id = delta.kind === "put_part" ? delta.part.id : delta.partId;
    const found = parts.findLastIndex((part) => part.id === id);
    const before = parts[found] ?? { id, type: "text", text: "" };
    const after = delta.kind === "put_part" ? delta.part : { ...before, text: before.text + delta.text };
    if (found < 0) parts.push(after);
    else parts[found] = after;
  }
  return parts;
}

function needDraft(session: NaiveSession, messageId: string): NaiveDraft {
  const draft = findDraft(session, messageId);
  if (!draft) throw notFound("Draft", messageId);
  return draft;
}

function checkVersion(draft: NaiveDraft, version: number): void {
  if (version !== versionOf(draft)) throw new DomainError("aborted", `The version is ${versionOf(draft)}`);
}

function areSame(a: readonly DraftDelta[] | undefined, b: readonly DraftDelta[]): boolean {
  return a !== undefined && JSON.stringify(a) === JSON.stringify(b);
}

function ended(messageId: string): DomainError {
  return new DomainError("failed_precondition", `Draft ${messageId} has ended`);
}

function taken(messageId: string): DomainError {
  return new DomainError("already_exists", `Message ${messageId} exists`);
}
