import type { WatchSessionsResponse } from "../../../gen/sessionpool/v1/session_service_pb.js";

/** More events are sent in several messages, so that none gets much larger than 20 KB, as Standard Webhooks asks. */
const MOST_EVENTS = 100;
/** How long a batch waits for further events. */
const GATHER_MS = 100;

export interface EventBatch {
  /** Without heartbeats, so it may be empty. */
  readonly events: readonly WatchSessionsResponse[];
  /** Where a watch goes on after this batch. */
  readonly resumeToken: string;
}

/** Yields the events of a watch together that come at about the same time. */
export async function* batchesOf(watch: AsyncIterable<WatchSessionsResponse>): AsyncGenerator<EventBatch> {
  const reader = watch[Symbol.asyncIterator]();
  const read = () => {
    const next = reader.next();
    // Whoever takes it learns of the failure. That is later than it happens while a batch is being delivered.
    next.catch(() => {});
    return next;
  };
  try {
    let next = read();
    for (;;) {
      const gathered: WatchSessionsResponse[] = [];
      let taken = await next;
      const endMs = performance.now() + GATHER_MS;
      while (!taken.done) {
        gathered.push(taken.value);
        next = read();
        if (gathered.length === MOST_EVENTS) break;
        const soon = await inTime(next, endMs - performance.now());
        if (soon === undefined) break;
        taken = soon;
      }
      const last = gathered.at(-1);
      if (last === undefined) return;
      yield { events: gathered.filter(({ event }) => event.case !== "heartbeat"), resumeToken: last.resumeToken };
    }
  } finally {
    // A watch whose next event is being waited for ends with that, and nobody waits for it here.
    reader.return?.().catch(() => {});
  }
}

/** What a promise resolves to if it does so in time, and otherwise undefined. */
async function inTime<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), Math.max(0, ms));
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
