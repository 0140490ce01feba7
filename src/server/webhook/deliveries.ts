import type { Metrics } from "../call/metrics.js";
import { TaskLimit } from "../limits/task-limit.js";
import type { Logger } from "../logging.js";
import { pause } from "./pause.js";
import type { Attempt, WebhookEndpoint, WebhookMessage } from "./webhook-endpoint.js";

const FIRST_RETRY_MS = 1000;
const MOST_RETRY_MS = 300_000;
/** By how much a pause may be shorter, so that the receiver does not get all retries at the same moment. */
const JITTER = 0.2;
/** How many requests are sent at a time, each about another namespace. */
const AT_ONCE = 8;

/** When to end. After `stopping`, no further attempt begins; `cut` ends those that are running. */
export interface Ending {
  readonly stopping: AbortSignal;
  readonly cut: AbortSignal;
}

/** How deliveries are going. */
export interface DeliveryState {
  /** Attempts that have failed in a row; those of the namespace that has the most. */
  readonly failures: number;
  /** How long the oldest event that was not delivered has waited in this process. */
  readonly unsentAgeMs: number;
  /** When the longest row of failures began; undefined while there is none. */
  readonly failingSinceMs: number | undefined;
}

interface Pending {
  readonly sinceMs: number;
  /** When the first attempt failed. */
  failingSinceMs?: number;
  failures: number;
  isGone: boolean;
}

export interface DeliveriesOptions {
  readonly endpoint: Pick<WebhookEndpoint, "name" | "post">;
  readonly metrics: Pick<Metrics, "webhookAttempts">;
  readonly logger: Pick<Logger, "info" | "warn">;
  /** The first pause between two attempts. */
  readonly firstRetryMs?: number | undefined;
}

/** Delivers messages, each as often as it takes. */
export class Deliveries {
  readonly #options: DeliveriesOptions;
  readonly #turns = new TaskLimit(AT_ONCE);
  /** By namespace. */
  readonly #pending = new Map<string, Pending>();

  constructor(options: DeliveriesOptions) {
    this.#options = options;
  }

  get state(): DeliveryState {
    const nowMs = Date.now();
    const pending = [...this.#pending.values()];
    const failing = pending.flatMap(({ failingSinceMs }) => failingSinceMs ?? []);
    return {
      failures: Math.max(0, ...pending.map(({ failures }) => failures)),
      unsentAgeMs: Math.max(0, ...pending.map(({ sinceMs }) => nowMs - sinceMs)),
      failingSinceMs: failing.length === 0 ? undefined : Math.min(...failing),
    };
  }

  /** Resolves to whether the message was delivered, which is false only when this was ended before. */
  async deliver(message: WebhookMessage, namespace: string, ending: Ending): Promise<boolean> {
    const { logger, endpoint, firstRetryMs } = this.#options;
    const pending: Pending = { sinceMs: Date.now(), failures: 0, isGone: false };
    this.#pending.set(namespace, pending);
    try {
      for (;;) {
        const attempt = await this.#attempt(message, ending);
        if (attempt === null) return false;
        if (attempt.result === "delivered") break;
        pending.failures += 1;
        pending.failingSinceMs ??= Date.now();
        this.#log(attempt, pending, namespace);
        await pause(retryDelayMs(attempt, pending.failures, { firstRetryMs }), ending.stopping);
      }
      const { failures, sinceMs } = pending;
      const seconds = Math.round((Date.now() - sinceMs) / 1000);
      if (failures > 0)
        logger.info({ receiver: endpoint.name, namespace, failures, seconds }, "The webhook is delivered again");
      return true;
    } finally {
      this.#pending.delete(namespace);
    }
  }

  /** Null when no attempt is wanted any more. */
  async #attempt(message: WebhookMessage, { stopping, cut }: Ending): Promise<Attempt | null> {
    let end = () => {};
    await new Promise<void>((resolve) => {
      end = this.#turns.start(resolve);
    });
    try {
      if (stopping.aborted) return null;
      const attempt = await this.#options.endpoint.post(message, cut);
      if (attempt.result !== "delivered" && cut.aborted) return null;
      this.#options.metrics.webhookAttempts.inc({ result: attempt.result });
      return attempt;
    } finally {
      end();
    }
  }

  /** One line for each row of failures, and another one if the receiver says that it is gone. */
  #log({ reason, isGone }: Exclude<Attempt, { result: "delivered" }>, pending: Pending, namespace: string): void {
    const details = { receiver: this.#options.endpoint.name, namespace, reason };
    if (isGone && !pending.isGone) {
      pending.isGone = true;
      this.#options.logger.warn(
        details,
        "The receiver of the webhook says that it is gone; it is asked again every five minutes, until --webhook is changed",
      );
    } else if (pending.failures === 1) {
      this.#options.logger.warn(details, "The webhook cannot be delivered; it is tried again until it can");
    }
  }
}

/** How long to wait after so many failures: a second, doubling up to five minutes, or as long as the receiver asks. */
export function retryDelayMs(
  { retryAfterMs = 0, isGone = false }: Pick<Exclude<Attempt, { result: "delivered" }>, "retryAfterMs" | "isGone">,
  failures: number,
  { firstRetryMs = FIRST_RETRY_MS, random = Math.random }: { firstRetryMs?: number | undefined; random?: () => number },
): number {
  const doubledMs = Math.min(firstRetryMs * 2 ** (failures - 1), MOST_RETRY_MS);
  const ownMs = (isGone ? MOST_RETRY_MS : doubledMs) * (1 - JITTER * random());
  return Math.max(ownMs, Math.min(retryAfterMs, MOST_RETRY_MS));
}
