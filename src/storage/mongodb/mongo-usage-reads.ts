import type { Collection, Filter } from "mongodb";
import type { Call } from "../../domain/call.js";
import { usageOfText } from "../../domain/usage-text.js";
import type { Segment, UsageEnds, UsageRow, UsageRows } from "../history/log-store.js";
import { runningOfText } from "../history/running-usage.js";
import { restOf } from "../history/usage-rows.js";
import { type LogDocument, MAX_SEQ, type MessageDocument } from "./entry-document.js";
import type { MongoCommands } from "./mongo-commands.js";
import { KEY_LOG_USAGE } from "./mongo-indexes.js";

type UsageDocument = Required<
  Pick<MessageDocument, "log" | "seq" | "timestamp" | "session_id" | "usage" | "usage_sums">
> & {
  /** An index has null for a field that is missing. */
  readonly origin?: string | null;
};

const MOST_IN_BATCH = 10_000;
const FIELDS = { _id: 0, log: 1, seq: 1, usage: 1, usage_sums: 1, timestamp: 1, session_id: 1, origin: 1 } as const;

/** Reads the usage of messages, from its index alone. */
export class MongoUsageReads {
  readonly #messages: Collection<LogDocument>;
  readonly #commands: MongoCommands;

  constructor(messages: Collection<LogDocument>, commands: MongoCommands) {
    this.#messages = messages;
    this.#commands = commands;
  }

  async readUsage(ranges: readonly Segment[], limit: number, call?: Call): Promise<UsageRows> {
    const rows: UsageRow[] = [];
    for (const [i, range] of ranges.entries()) {
      const most = limit - rows.length;
      const found = await this.#find(range, 1, most, call);
      rows.push(...found.map(toRow));
      if (found.length === most) return { rows, rest: restOf(ranges, i, rows.at(-1)) };
    }
    return { rows, rest: [] };
  }

  /** Looks at all ranges at once, as `readLast` does. */
  readUsageEnds(ranges: readonly Segment[], call?: Call): Promise<readonly (UsageEnds | null)[]> {
    return Promise.all(ranges.map((range) => this.#ends(range, call)));
  }

  async #ends(range: Segment, call?: Call): Promise<UsageEnds | null> {
    const [first] = await this.#find(range, 1, 1, call);
    if (first === undefined) return null;
    const [last = first] = range.last === first.seq ? [] : await this.#find(range, -1, 1, call);
    return {
      sessionId: first.session_id,
      first: { ...toRow(first), sums: runningOfText(first.usage_sums) },
      last: runningOfText(last.usage_sums),
    };
  }

  #find({ log, first, last }: Segment, order: 1 | -1, limit: number, call?: Call): Promise<readonly UsageDocument[]> {
    // A range of texts, because an index does not tell whether a field exists.
    const filter: Filter<LogDocument> = {
      log,
      seq: { $gte: first, $lte: Math.min(last, MAX_SEQ) },
      usage: { $gte: "" },
    };
    const batchSize = Math.min(limit + 1, MOST_IN_BATCH);
    return this.#commands.read(call, (limits) =>
      this.#messages
        .find<UsageDocument>(filter, { ...limits, projection: FIELDS, hint: KEY_LOG_USAGE, limit, batchSize })
        .sort({ log: order, seq: order })
        .toArray(),
    );
  }
}

function toRow({ log, seq, timestamp, origin, session_id, usage }: UsageDocument): UsageRow {
  return {
    log,
    seq,
    timestampMicros: Number(timestamp),
    originSessionId: origin ?? session_id,
    usage: usageOfText(usage),
  };
}
