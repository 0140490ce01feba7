import type { Call } from "../../domain/call.js";
import type { Head, HistoryContext } from "./heads.js";
import type { Entry } from "./log-store.js";
import { NOTHING_USED, plusEntry, type RunningUsage } from "./running-usage.js";

/** Gives the entries of one log their sums of usage, in the order of the log. */
export class UsageCounter {
  #sums: RunningUsage;

  /** `sums`: those up to the entry before the first one that is counted. */
  constructor(sums: RunningUsage = NOTHING_USED) {
    this.#sums = sums;
  }

  /** The entry with its sums if it has usage. */
  count(entry: Entry): Entry {
    const { usage } = entry.body;
    if (usage === undefined) return entry.usageSums === undefined ? entry : { ...entry, usageSums: undefined };
    this.#sums = plusEntry(this.#sums, entry, usage);
    const { log, seq, id, timestampMicros, role, body, sessionId, originSessionId, remaining } = entry;
    const usageSums = this.#sums;
    // Written out, because every append with usage makes one.
    return { log, seq, id, timestampMicros, role, body, sessionId, originSessionId, remaining, usageSums };
  }
}

/** Whether an entry has usage, so that it needs sums. */
export function isUsed({ body }: Entry): boolean {
  return body.usage !== undefined;
}

/** The entries, which come at the end of the open log, with their sums. */
export async function withSums(
  { store }: HistoryContext,
  { record, seq, usageSums }: Head,
  entries: readonly Entry[],
  call: Call | undefined,
): Promise<Entry[]> {
  // They are those up to the place that the head knows as the last one. If somebody else has
  // written since, the append fails, because the next place is taken.
  const [ends] =
    usageSums === undefined ? await store.readUsageEnds([{ log: record.log, first: 1, last: seq }], call) : [];
  // Rule: sums-with-entries.
  const counter = new UsageCounter(usageSums ?? ends?.last);
  return entries.map((entry) => counter.count(entry));
}
