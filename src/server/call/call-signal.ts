import { setMaxListeners } from "node:events";

/**
 * The signal of one call that can be aborted by itself. Making Node's own AbortSignal takes 5 us, a tenth of a small
 * call, and few calls are ever aborted.
 */
export class CallSignal extends EventTarget implements AbortSignal {
  aborted = false;
  reason: unknown;
  onabort = null;

  constructor() {
    super();
    setMaxListeners(0, this);
  }

  /** Does nothing if it has been aborted already. */
  abort(reason: Error): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    this.dispatchEvent(new Event("abort"));
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason;
  }
}
