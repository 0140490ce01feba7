import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { create } from "@bufbuild/protobuf";
import { WatchSessionsRequestSchema } from "../../../gen/sessionpool/v1/session_service_pb.js";
import type { ApiContext } from "../../api/api-method.js";
import { watchSessions } from "../../api/session-watch.js";
import type { WebhookConfig } from "../../config/webhook-flags.js";
import type { Metrics } from "../call/metrics.js";
import type { Logger } from "../logging.js";
import { Deliveries, type DeliveryState, type Ending } from "./deliveries.js";
import { FeedSender } from "./feed-sender.js";
import { Lease, type LeaseTimes, type Registers } from "./lease.js";
import { pause } from "./pause.js";
import { WebhookEndpoint } from "./webhook-endpoint.js";
import { WebhookSecrets } from "./webhook-secrets.js";

const LEASE = "webhook";
/** How often new namespaces are looked for. */
const LOOK_MS = 5000;
/** The most time that requests get which are running when the service stops. */
const FINISH_MS = 3000;

/** Times that tests make shorter. */
export interface WebhookTimes {
  readonly lease?: LeaseTimes | undefined;
  readonly firstRetryMs?: number | undefined;
  readonly timeoutMs?: number | undefined;
}

export interface WebhookOptions {
  readonly config: WebhookConfig;
  readonly registers: Registers;
  /** The namespaces to send. */
  readonly listNamespaces: () => Promise<readonly string[]>;
  readonly usePool: (namespace: string) => Pick<ApiContext, "rootPool"> & { release(): void };
  readonly limits: ApiContext["limits"];
  /** How long stopping may take. */
  readonly shutdownMs: number;
  readonly metrics: Pick<Metrics, "webhookAttempts" | "webhookResets">;
  readonly logger: Logger;
  readonly times?: WebhookTimes | undefined;
}

/** Sends the feeds of all namespaces to one receiver, from one of the processes that share the store. */
export class Webhook {
  readonly #options: WebhookOptions;
  readonly #secrets: WebhookSecrets;
  readonly #deliveries: Deliveries;
  readonly #stopping = new AbortController();
  readonly #cut = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #isSender = false;
  #hasFailed = false;

  /** Throws an Error with a one-line message when the file of secrets cannot be used. */
  constructor(options: WebhookOptions) {
    const { config, logger, metrics, times } = options;
    this.#options = options;
    this.#secrets = new WebhookSecrets(config.secretFile, logger);
    const endpoint = new WebhookEndpoint(config.url, this.#secrets, times?.timeoutMs);
    this.#deliveries = new Deliveries({ endpoint, metrics, logger, firstRetryMs: times?.firstRetryMs });
  }

  /** How deliveries are going; undefined while another process sends. */
  get state(): DeliveryState | undefined {
    return this.#isSender ? this.#deliveries.state : undefined;
  }

  start(): void {
    const { registers, logger, times } = this.#options;
    const lease = new Lease({
      registers,
      name: LEASE,
      holder: `${hostname()} ${process.pid} ${randomUUID()}`,
      times: times?.lease,
      onFailure: (err) => {
        if (!this.#hasFailed) logger.warn({ err }, "Which process sends the webhook cannot be settled now");
        this.#hasFailed = true;
      },
    });
    this.#running = lease.run((lost) => this.#lead(lost), this.#stopping.signal);
  }

  /** Reads the secrets again. */
  reload(): void {
    this.#secrets.reload();
  }

  /** Lets running requests end for a moment, then ends them, and leaves the rest to other processes. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const cutting = setTimeout(() => this.#cut.abort(), Math.min(FINISH_MS, this.#options.shutdownMs));
    await this.#running;
    clearTimeout(cutting);
    this.#secrets.close();
  }

  /** Sends until the lease is lost or the service stops. */
  async #lead(lost: AbortSignal): Promise<void> {
    const { listNamespaces, logger } = this.#options;
    this.#isSender = true;
    this.#hasFailed = false;
    logger.info("This process sends the webhook from now on");
    const ending: Ending = {
      stopping: AbortSignal.any([this.#stopping.signal, lost]),
      cut: AbortSignal.any([this.#cut.signal, lost]),
    };
    const senders = new Map<string, Promise<void>>();
    while (!ending.stopping.aborted) {
      // If this fails, it is done again at the next look.
      const names = await listNamespaces().catch(() => []);
      for (const name of names) if (!senders.has(name)) senders.set(name, this.#send(name, ending));
      await pause(LOOK_MS, ending.stopping);
    }
    await Promise.all(senders.values());
    this.#isSender = false;
    if (lost.aborted)
      logger.warn("This process sends the webhook no more, because it could not renew its lease in time");
  }

  async #send(namespace: string, ending: Ending): Promise<void> {
    const { usePool, limits, registers, metrics, logger } = this.#options;
    const { rootPool, release } = usePool(namespace);
    const watch = (resumeToken: string, signal: AbortSignal) =>
      watchSessions(create(WatchSessionsRequestSchema, { resumeToken }), { namespace, rootPool, limits, signal });
    const sender = new FeedSender({ namespace, watch, registers, deliveries: this.#deliveries, metrics, logger });
    await sender.run(ending).finally(release);
  }
}
