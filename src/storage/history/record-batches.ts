import { type Call, checkCall } from "../../domain/call.js";
import type { LogStore, SessionRecord } from "./log-store.js";

/** How many records are read at a time. */
const BATCH = 100;

/** All records of the namespace, also those of deleted sessions. */
export async function* recordBatches(store: LogStore, call: Call): AsyncGenerator<readonly SessionRecord[]> {
  for (let after = ""; ; ) {
    checkCall(call);
    const records = await store.scanRecords(after, BATCH, call);
    yield records;
    if (records.length < BATCH) return;
    after = records.at(-1)?.uid ?? "";
  }
}
