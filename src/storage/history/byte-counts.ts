import type { ResolvedHistoryOptions } from "./history-options.js";
import type { Entry, LogStore, SessionRecord } from "./log-store.js";
import { NotedFigures } from "./noted-figures.js";

/** How long to wait at most before what was noted is written. */
const FLUSH_MS = 1000;

/** The bytes that the bodies of entries take in a store. */
export function bytesOf(entries: readonly Pick<Entry, "body">[]): number {
  let bytes = 0;
  for (const { body } of entries) bytes += body.storedBytes;
  return bytes;
}

/**
 * Counts the bytes that are stored in the logs of each session. What this process has written or removed is noted, and
 * added to the counts in the store once a second at most, so that an append needs no statement more. A process that is
 * killed loses what it has noted; `sweep --repair` counts anew.
 */
export class ByteCounts {
  /** Whether quotas limit bytes, so that all sessions are to be counted. */
  readonly isOn: boolean;
  readonly #noted: NotedFigures;

  constructor(store: LogStore, { quotas, startTimer, onAnomaly }: ResolvedHistoryOptions) {
    this.isOn = Object.values(quotas).some((quota) => quota?.bytes !== undefined);
    this.#noted = new NotedFigures({
      ...{ startTimer, onAnomaly, delayMs: FLUSH_MS },
      merge: (before, now) => before + now,
      write: (bytes, signal) => store.addBytes(bytes, { signal }),
      failure: (count) => {
        const sessions = count === 1 ? "1 session" : `${count} sessions`;
        return `The bytes of ${sessions} could not be counted; sweep --repair counts them anew`;
      },
    });
  }

  /** Whether the bytes of a session are counted. A process may not have read yet that they are. */
  counts({ isCounted }: Pick<SessionRecord, "isCounted">): boolean {
    return this.isOn || isCounted === true;
  }

  /** Notes that so many bytes were stored in the logs of a session, or, if negative, removed from them. */
  note({ uid }: Pick<SessionRecord, "uid">, bytes: number): void {
    if (bytes !== 0) this.#noted.note(uid, bytes);
  }

  /** Forgets what was noted of a session, because its entries are about to be measured. */
  forget({ uid }: Pick<SessionRecord, "uid">): Promise<void> {
    return this.#noted.forget(uid);
  }

  flush(): Promise<void> {
    return this.#noted.flush();
  }

  close(limit: { readonly deadlineMs: number }): Promise<void> {
    return this.#noted.close(limit);
  }
}
