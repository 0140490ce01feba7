import { DomainError } from "../domain/errors.js";

/** How long a client may leave what it asked for unread. */
const STALL_MS = 30_000;

/** Resolves when `write` says that it is done; `resource_exhausted` when the reader takes nothing, or has gone. */
export function withinStallTime(write: (done: () => void) => void, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      settle();
    };
    const onAbort = () => end(() => reject(new DomainError("canceled", "The call was canceled")));
    const onStall = () => end(() => reject(new DomainError("resource_exhausted", "The reader does not keep up")));
    const timer = setTimeout(onStall, STALL_MS);
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort);
    write(() => end(resolve));
  });
}
