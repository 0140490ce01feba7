import { Code } from "@connectrpc/connect";
import type { WatchSessionsResponse } from "../../../gen/sessionpool/v1/session_service_pb.js";
import { toApiError } from "../../api/error-mapping.js";
import type { Metrics } from "../call/metrics.js";
import type { Logger } from "../logging.js";
import type { Deliveries, Ending } from "./deliveries.js";
import { batchesOf, type EventBatch } from "./event-batches.js";
import type { Registers } from "./lease.js";
import { pause } from "./pause.js";
import type { WebhookMessage } from "./webhook-endpoint.js";
import { changedMessage, resetMessage } from "./webhook-message.js";

/** How long to wait before a watch is begun again that has ended. */
const AGAIN_MS = 1000;
/** How often the place is stored although nothing has changed, because places become too old. */
const STORE_MS = 3_600_000;

export interface FeedSenderOptions {
  readonly namespace: string;
  /** Watches the sessions of the namespace, after a token or, if that is empty, from now on. */
  readonly watch: (resumeToken: string, signal: AbortSignal) => Promise<AsyncIterable<WatchSessionsResponse>>;
  readonly registers: Registers;
  readonly deliveries: Pick<Deliveries, "deliver">;
  readonly metrics: Pick<Metrics, "webhookResets">;
  readonly logger: Pick<Logger, "warn">;
}

/**
 * Sends the feed of one namespace. A register holds the token up to which everything was delivered, and is replaced
 * after each message by compare-and-set. So a second sender, if there ever is one, may repeat messages, but neither of
 * them can move the place back or past what was not delivered.
 */
export class FeedSender {
  readonly #options: FeedSenderOptions;
  readonly #place: string;
  #isFailing = false;

  constructor(options: FeedSenderOptions) {
    this.#options = options;
    this.#place = `webhook ${options.namespace}`;
  }

  /** Sends until `stopping`. Never rejects. */
  async run(ending: Ending): Promise<void> {
    const { logger, namespace } = this.#options;
    while (!ending.stopping.aborted) {
      try {
        await this.#send(ending);
      } catch (err) {
        // A watch is ended when a receiver is slow, and begins again where it was.
        const isSlow = toApiError(err).code === Code.ResourceExhausted;
        if (!ending.stopping.aborted && !isSlow && !this.#isFailing) {
          this.#isFailing = true;
          logger.warn({ err, namespace }, "The webhook cannot read the feed; it is tried again until it can");
        }
      }
      await pause(AGAIN_MS, ending.stopping);
    }
  }

  async #send(ending: Ending): Promise<void> {
    const { registers, deliveries, namespace } = this.#options;
    const call = { signal: ending.cut };
    const stored = await registers.read(this.#place, call);
    let revision = stored?.revision ?? 0;
    let storedAtMs = performance.now();
    let isSettled = true;
    let { from, events } = await this.#begin(stored?.text, ending.stopping);
    for await (const batch of batchesOf(events)) {
      this.#isFailing = false;
      const message = this.#messageOf(from, batch);
      const isStoreDue = !isSettled || performance.now() - storedAtMs > STORE_MS;
      if (message === null && !isStoreDue) continue;
      if (message !== null && !(await deliveries.deliver(message, namespace, ending))) return;
      from = batch.resumeToken;
      // If this fails, another sender has gone on from the same place.
      if (!(await registers.replace(this.#place, from, revision, call))) return;
      revision += 1;
      storedAtMs = performance.now();
      // The next heartbeat has a token after which what was just delivered is not told again.
      isSettled = message === null;
    }
  }

  /** Null when there is nothing to tell. */
  #messageOf(from: string | undefined, batch: EventBatch): WebhookMessage | null {
    const { namespace } = this.#options;
    if (from === undefined) return resetMessage(namespace, batch.resumeToken);
    return batch.events.length === 0 ? null : changedMessage(namespace, from, batch);
  }

  /** `from` is undefined when the receiver has to list the sessions anew. */
  async #begin(
    stored: string | undefined,
    signal: AbortSignal,
  ): Promise<{ from: string | undefined; events: AsyncIterable<WatchSessionsResponse> }> {
    const { watch, namespace, metrics, logger } = this.#options;
    if (stored !== undefined) {
      try {
        return { from: stored, events: await watch(stored, signal) };
      } catch (error) {
        const { code, message: reason } = toApiError(error);
        if (code !== Code.FailedPrecondition && code !== Code.InvalidArgument) throw error;
        metrics.webhookResets.inc();
        logger.warn(
          { namespace, reason },
          "The webhook cannot go on where it was, and asks its receiver to list sessions",
        );
      }
    }
    return { from: undefined, events: await watch("", signal) };
  }
}
