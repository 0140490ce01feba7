import { VERSION } from "../../version.js";
import type { WebhookSecrets } from "./webhook-secrets.js";

/** How long an attempt may take, until the whole answer has been read. */
const TIMEOUT_MS = 20_000;
/** An answer says nothing besides its status, so more of it is not read. */
const MOST_ANSWER_BYTES = 65_536;
const GONE = 410;

/** What is sent. Every attempt at the same message has the same id. */
export interface WebhookMessage {
  readonly id: string;
  readonly body: string;
}

/** How an attempt has ended. */
export type Attempt =
  | { readonly result: "delivered" }
  | {
      /** The receiver answered with another status than 2xx, no answer could be had, or it did not come in time. */
      readonly result: "refused" | "failed" | "timeout";
      readonly reason: string;
      /** For how long the receiver wants no other attempt. */
      readonly retryAfterMs?: number | undefined;
      /** Whether the receiver says that it wants no more messages at all. */
      readonly isGone?: boolean | undefined;
    };

/** A receiver, which gets messages as Standard Webhooks describes. */
export class WebhookEndpoint {
  /** Without credentials, path and query, which may be secret. */
  readonly name: string;
  readonly #url: string;
  readonly #authorization: { readonly authorization?: string };
  readonly #secrets: Pick<WebhookSecrets, "sign">;
  readonly #timeoutMs: number;

  constructor(address: string, secrets: Pick<WebhookSecrets, "sign">, timeoutMs = TIMEOUT_MS) {
    const url = new URL(address);
    this.name = url.origin;
    const [user, password] = [url.username, url.password].map(decodeURIComponent);
    const credentials = Buffer.from(`${user}:${password}`).toString("base64");
    this.#authorization = user || password ? { authorization: `Basic ${credentials}` } : {};
    url.username = "";
    url.password = "";
    this.#url = url.href;
    this.#secrets = secrets;
    this.#timeoutMs = timeoutMs;
  }

  /** Posts a message once. Never rejects; an attempt that `cut` ends is `failed`. */
  async post({ id, body }: WebhookMessage, cut: AbortSignal): Promise<Attempt> {
    const timestamp = Math.floor(Date.now() / 1000);
    const timeout = AbortSignal.timeout(this.#timeoutMs);
    try {
      const answer = await fetch(this.#url, {
        method: "POST",
        redirect: "manual",
        signal: AbortSignal.any([cut, timeout]),
        headers: {
          ...this.#authorization,
          "content-type": "application/json",
          "user-agent": `session-pool/${VERSION}`,
          "webhook-id": id,
          "webhook-timestamp": `${timestamp}`,
          "webhook-signature": this.#secrets.sign(id, timestamp, body),
        },
        body,
      });
      // The status has said it all.
      await discard(answer).catch(() => {});
      if (answer.ok) return { result: "delivered" };
      const retryAfterMs = readRetryAfter(answer.headers.get("retry-after"), Date.now());
      return {
        result: "refused",
        reason: `The receiver answered ${answer.status}`,
        retryAfterMs,
        isGone: answer.status === GONE,
      };
    } catch (error) {
      if (timeout.aborted) return { result: "timeout", reason: `No answer within ${this.#timeoutMs / 1000} s` };
      return { result: "failed", reason: reasonOf(error) };
    }
  }
}

/** Reads the rest of an answer, so that its connection can be used again. Ends the connection if it is too much. */
async function discard({ body }: Response): Promise<void> {
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > MOST_ANSWER_BYTES) return;
  }
}

/** Reads the header `Retry-After`, which holds seconds or a date; undefined when it is missing or holds neither. */
export function readRetryAfter(text: string | null, nowMs: number): number | undefined {
  if (text === null) return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}

/** What the network has said, which `fetch` hides in the cause. */
function reasonOf(error: unknown): string {
  let root = error;
  while (root instanceof Error && root.cause instanceof Error) root = root.cause;
  const { message, code } = root as { readonly message?: string; readonly code?: string };
  return message || code || "The request failed";
}
