import type { StoredMessage } from "../index.js";

/** Stands for the content of an erased message. */
export const ERASED = "[erased]";

/** What matters of a message for keeping calls and results together. */
export interface PairedMessage {
  /** The ids of the calls in the message. */
  readonly calls: readonly string[];
  /** The ids of the calls whose results are in the message. */
  readonly results: readonly string[];
  /** What an erased message may have been. */
  readonly erased?: "call" | "result" | "either" | undefined;
  /** Whether the user spoke here. A call and its result are never on different sides of such a message. */
  readonly isQuestion?: boolean;
}

/** The ids of the calls and results that an erased message has to stand for. */
export interface Halves {
  readonly calls: string[];
  readonly results: string[];
}

/** Whether EraseMessage has removed the content of a message. */
export function isErased({ parts }: StoredMessage): boolean {
  return parts.some(({ type, data }) => type === "erased" && data === undefined);
}

/**
 * The calls and results that each erased message has to stand for, because models refuse a result without its call, and
 * a call without its result. The nearest erased message before a result without a call stands for the call, and the
 * nearest one after a call without a result for the result. Each stands for at most `most` calls and results.
 */
export function pairErased(messages: readonly PairedMessage[], most = Number.POSITIVE_INFINITY): Halves[] {
  const halves = messages.map((): Halves => ({ calls: [], results: [] }));
  if (messages.every(({ erased }) => erased === undefined)) return halves;
  const called = new Set(messages.flatMap(({ calls }) => calls));
  const answered = new Set(messages.flatMap(({ results }) => results));
  const give = (id: string, half: "call" | "result", from: number, step: 1 | -1) => {
    for (let at = from + step; ; at += step) {
      const { erased, isQuestion } = messages[at] ?? { isQuestion: true };
      if (isQuestion) return;
      const { calls, results } = halves[at] as Halves;
      if ((erased !== half && erased !== "either") || calls.length + results.length >= most) continue;
      return void (half === "call" ? calls : results).push(id);
    }
  };
  for (const [at, { results }] of messages.entries())
    for (const id of results) if (!called.has(id)) give(id, "call", at, -1);
  for (const [at, { calls }] of [...messages.entries()].reverse())
    for (const id of calls) if (!answered.has(id)) give(id, "result", at, 1);
  return halves;
}
