import type { StoredMessage } from "../index.js";

/** Stands for the content of an erased message. */
export const ERASED = "[erased]";

/** What matters of a message for keeping calls and results together. */
export interface Turn {
  /** The ids of the calls in the message. */
  readonly calls: readonly string[];
  /** The ids of the calls whose results are in the message. */
  readonly results: readonly string[];
  /** What an erased message may have been. */
  readonly erased?: "call" | "result" | "either" | undefined;
  /** Whether the user spoke here. No call before has its result after. */
  readonly isQuestion?: boolean;
}

/** The ids of which an erased message has to be the call or the result. */
export interface Halves {
  readonly calls: string[];
  readonly results: string[];
}

/** Whether EraseMessage has removed the content of a message. */
export function isErased({ parts }: StoredMessage): boolean {
  return parts.some(({ type, data }) => type === "erased" && data === undefined);
}

/**
 * For each turn, what it has to be if it was erased, because models refuse a result without its call, and a call
 * without its result: the nearest erased message before a result gets its call, and the nearest one after a call its
 * result. Each holds at most `most` ids.
 */
export function pairErased(turns: readonly Turn[], most = Number.POSITIVE_INFINITY): Halves[] {
  const halves = turns.map((): Halves => ({ calls: [], results: [] }));
  if (turns.every(({ erased }) => erased === undefined)) return halves;
  const called = new Set(turns.flatMap(({ calls }) => calls));
  const answered = new Set(turns.flatMap(({ results }) => results));
  const give = (id: string, half: "call" | "result", from: number, step: 1 | -1) => {
    for (let at = from + step; ; at += step) {
      const { erased, isQuestion } = turns[at] ?? { isQuestion: true };
      if (isQuestion) return;
      const { calls, results } = halves[at] as Halves;
      if ((erased !== half && erased !== "either") || calls.length + results.length >= most) continue;
      return void (half === "call" ? calls : results).push(id);
    }
  };
  for (const [at, { results }] of turns.entries())
    for (const id of results) if (!called.has(id)) give(id, "call", at, -1);
  for (const [at, { calls }] of [...turns.entries()].reverse())
    for (const id of calls) if (!answered.has(id)) give(id, "result", at, 1);
  return halves;
}
