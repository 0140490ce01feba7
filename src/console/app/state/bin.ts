import { signal } from "@preact/signals";
import { undeleteSession } from "../api/calls.js";
import type { Session } from "../api/types.js";

/** For how many days a deleted session can be brought back; 0 for none. The service writes it into the page. */
export const binDays = Number(document.documentElement.dataset.bin ?? 0);

/** Ids of the sessions that were brought back in this tab, so that nothing offers to do so again. */
const broughtBack = signal<ReadonlySet<string>>(new Set());

/** Brings a deleted session back. */
export async function bringOneBack(sessionId: string): Promise<Session> {
  const session = await undeleteSession(sessionId);
  broughtBack.value = new Set([...broughtBack.peek(), sessionId]);
  return session;
}

/** Notes that sessions are deleted. Returns whether all of them are back, for a note that offers to bring them back. */
export function whenBack(sessionIds: readonly string[]): () => boolean {
  const gone = new Set(sessionIds);
  broughtBack.value = new Set([...broughtBack.peek()].filter((sessionId) => !gone.has(sessionId)));
  return () => sessionIds.every((sessionId) => broughtBack.value.has(sessionId));
}
