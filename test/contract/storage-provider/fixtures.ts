import { expect } from "vitest";
import type { ChatMessage, NewChatMessage } from "../../../src/domain/chat-message.js";
import type { ErrorCode } from "../../../src/domain/errors.js";
import type { StorageOperations } from "../../../src/storage/storage-manager.js";
import type { ListMessagesOptions } from "../../../src/storage/storage-provider.js";
import type { StorageProviderSubject } from "./subject.js";

/** Where the cases' clock begins: 2026-01-01, microseconds since 1970. */
export const T0 = Date.UTC(2026, 0, 1) * 1000;

export const SECOND = 1_000_000;

/** A message with this id. Its content is unlike that of any other id. */
export function message(id: string, given: Partial<NewChatMessage> = {}): NewChatMessage {
  return { id, role: "user", parts: [{ id: "", type: "text", text: `text of ${id}` }], ...given };
}

/** The same, `seconds` after T0. */
export function messageAt(id: string, seconds: number, given: Partial<NewChatMessage> = {}): NewChatMessage {
  return message(id, { timestampMicros: T0 + seconds * SECOND, ...given });
}

export function messages(...ids: readonly string[]): readonly NewChatMessage[] {
  return ids.map((id) => message(id));
}

/** `m1` to `m<count>`. */
export function numbered(count: number, prefix = "m"): readonly string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}${i + 1}`);
}

/** Makes a session with these messages. */
export async function sessionWith(
  provider: StorageOperations,
  sessionId: string,
  given: readonly (string | NewChatMessage)[] = [],
): Promise<void> {
  await provider.createSession({ sessionId });
  for (const one of given) {
    await provider.logMessages(sessionId, [typeof one === "string" ? message(one) : one]);
  }
}

export function idsOf(list: readonly ChatMessage[]): readonly string[] {
  return list.map(({ id }) => id);
}

/** Ids of the whole history. */
export async function history(provider: StorageOperations, sessionId: string): Promise<readonly string[]> {
  return idsOf(await provider.getSessionMessages(sessionId));
}

/** Ids of all pages of a list, page by page. */
export async function pages(
  provider: StorageOperations,
  sessionId: string,
  options: ListMessagesOptions,
): Promise<readonly (readonly string[])[]> {
  const all: (readonly string[])[] = [];
  let cursor = options.cursor;
  do {
    const page = await provider.listMessages(sessionId, { ...options, ...(cursor && { cursor, offset: undefined }) });
    all.push(idsOf(page.messages));
    cursor = page.next;
  } while (cursor !== undefined);
  return all;
}

/** A sweep marks, the next one removes, which may leave something else to mark, and so on. */
const SWEEPS = 4;

/**
 * Sweeps until nothing is left to remove. For this provider, what one sweep has marked is old enough for the next one.
 * Resolves to how many deleted sessions and how many ranges of living ones were removed.
 */
export async function sweepAway(
  subject: StorageProviderSubject,
): Promise<{ readonly sessions: number; readonly ranges: number }> {
  const sweeper = subject.open({ sweepAgeMs: 0 });
  const removed = { sessions: 0, ranges: 0 };
  for (let i = 0; i < SWEEPS; i++) {
    const { sessions, ranges } = await sweeper.sweep();
    removed.sessions += sessions;
    removed.ranges += ranges;
    subject.nowMicros += SECOND;
  }
  return removed;
}

/** Asserts that a call is refused with this code. Resolves to the error. */
export async function refusal(call: Promise<unknown>, code: ErrorCode): Promise<Error> {
  const error = await call.then(
    (value) => expect.unreachable(`expected ${code}, but got ${JSON.stringify(value)}`),
    (reason: unknown) => reason as Error,
  );
  expect(error).toMatchObject({ code });
  return error;
}
