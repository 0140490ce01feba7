import { signal } from "@preact/signals";
import { getSession, listSessions } from "../api/calls.js";
import { ApiError, CODE } from "../api/http.js";
import type { Session } from "../api/types.js";

export interface FamilyNode {
  readonly sessionId: string;
  /** Absent when the session is gone and only its id is known. */
  readonly session: Session | undefined;
  readonly children: readonly FamilyNode[];
  /** Whether it has more children than are shown. */
  readonly hasMore: boolean;
}

const MAX_ANCESTORS = 10;
const MAX_CHILDREN = 50;
const MAX_NODES = 150;

/** The tree of forks that a session belongs to, from its oldest parent down. */
export class Family {
  readonly root = signal<FamilyNode | undefined>(undefined);
  readonly error = signal<unknown>(undefined);

  async read(sessionId: string, signal: AbortSignal): Promise<void> {
    try {
      let top: { sessionId: string; session: Session | undefined } = {
        sessionId,
        session: await find(sessionId, signal),
      };
      for (let i = 0; i < MAX_ANCESTORS && top.session?.parentId; i++) {
        const { parentId } = top.session;
        top = { sessionId: parentId, session: await find(parentId, signal) };
      }
      const budget = { left: MAX_NODES };
      const root = await branch(top.sessionId, top.session, budget, signal);
      if (signal.aborted) return;
      this.root.value = root;
      this.error.value = undefined;
    } catch (error) {
      if (!signal.aborted) this.error.value = error;
    }
  }
}

async function find(sessionId: string, signal: AbortSignal): Promise<Session | undefined> {
  return getSession(sessionId, signal).catch((error) => {
    if (error instanceof ApiError && error.code === CODE.notFound) return undefined;
    throw error;
  });
}

async function branch(
  sessionId: string,
  session: Session | undefined,
  budget: { left: number },
  signal: AbortSignal,
): Promise<FamilyNode> {
  budget.left -= 1;
  const { sessions, nextPageToken } = await listSessions({ parentId: sessionId, limit: MAX_CHILDREN }, signal);
  const children: FamilyNode[] = [];
  for (const child of sessions) {
    if (budget.left <= 0) return { sessionId, session, children, hasMore: true };
    children.push(await branch(child.sessionId, child, budget, signal));
  }
  children.sort((a, b) => Number(a.session?.inheritedCount ?? 0) - Number(b.session?.inheritedCount ?? 0));
  return { sessionId, session, children, hasMore: nextPageToken !== "" };
}
