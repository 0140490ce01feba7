import { endsBy } from "../domain/call.js";
import { DomainError } from "../domain/errors.js";
import type { Logger } from "./logging.js";

const ANSWER_MS = 2000;
const INTERVAL_MS = 1000;
const NO_ANSWER = "The store does not answer";

/**
 * Whether this process can do its work: checked by `/readyz` on request, and reported by gRPC health within a second or
 * two of a change.
 */
export class Readiness {
  readonly #pingStorage: () => Promise<void>;
  readonly #logger: Logger;
  #isOn = false;
  #isReady = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(pingStorage: () => Promise<void>, logger: Logger) {
    this.#pingStorage = pingStorage;
    this.#logger = logger;
  }

  /** Whether it was ready when it was looked at last. */
  get isReady(): boolean {
    return this.#isOn && this.#isReady;
  }

  /** From now on, readiness depends on the store. The listener is called at once with true, and then on each change. */
  start(onChange: (isReady: boolean) => void): void {
    this.#isOn = true;
    this.#isReady = true;
    onChange(true);
    this.#lookLater(undefined, onChange);
  }

  /** Makes the process not ready; the listener is called no more. */
  stop(): void {
    this.#isOn = false;
    clearTimeout(this.#timer);
  }

  /** Undefined when ready, otherwise the reason. */
  async problem(): Promise<string | undefined> {
    if (!this.#isOn) return "The server is starting or stopping";
    try {
      return (await endsBy(Date.now() + ANSWER_MS, this.#pingStorage())) ? undefined : NO_ANSWER;
    } catch (error) {
      return error instanceof DomainError ? `The store cannot be used: ${error.message}` : NO_ANSWER;
    }
  }

  #lookLater(before: string | undefined, onChange: (isReady: boolean) => void): void {
    this.#timer = setTimeout(async () => {
      const problem = await this.problem();
      if (!this.#isOn) return;
      this.#isReady = problem === undefined;
      const hasChanged = (problem === undefined) !== (before === undefined);
      if (hasChanged) {
        if (problem === undefined) this.#logger.info("Ready again");
        else this.#logger.warn(`Not ready: ${problem}`);
        onChange(problem === undefined);
      }
      this.#lookLater(problem, onChange);
    }, INTERVAL_MS).unref();
  }
}
