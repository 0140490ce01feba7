import { readFileSync } from "node:fs";
import { join } from "node:path";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import type { LogStore } from "../../src/storage/history/log-store.js";
import { ROOT } from "./toolchain.js";

/**
 * A file of `stores-0.2.0`: stores that the program had made before sessions had owners, with labels, a fork, a child,
 * a revert, a draft and a deleted source, and what it then answered about each session.
 */
export function releasedStore(file: string): string {
  return readFileSync(join(ROOT, "test/support/stores-0.2.0", file), "utf8");
}

interface Answered {
  readonly sessionId: string;
  readonly session: { readonly title: string; readonly labels: object };
  readonly messages: readonly { readonly info: { readonly id: string; readonly sessionId: string } }[];
}

/** What the program of that time answered about sessions and their own messages, by session. */
export function answeredBefore(file: string): Readonly<Record<string, object>> {
  const lines = releasedStore(file).trim().split("\n");
  const answers = lines.map((line) => JSON.parse(line) as Answered);
  return Object.fromEntries(
    answers.map(({ sessionId, session: { title, labels }, messages }) => {
      const own = messages.filter(({ info }) => info.sessionId === sessionId).map(({ info }) => info.id);
      return [sessionId, { title, labels, own }];
    }),
  );
}

/** What a store answers about the same now. */
export async function answeredNow(store: LogStore): Promise<Readonly<Record<string, object>>> {
  const provider = new LogHistoryProvider(store);
  const { sessions } = await provider.listSessions({ parentId: "", limit: 99 });
  const answers = sessions.map(async ({ sessionId, title, labels = {} }) => {
    const own = (await provider.getSessionMessages(sessionId)).map(({ id }) => id);
    return [sessionId, { title, labels, own }] as const;
  });
  return Object.fromEntries(await Promise.all(answers));
}
