import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { poll } from "./poll.js";

/** A secret that signs what a test receives. */
export const SECRET = `whsec_${Buffer.from("a secret of more than 24 bytes").toString("base64")}`;

export interface ToldEvent {
  readonly created?: { readonly sessionId: string; readonly messageCount: string };
  readonly changed?: { readonly sessionId: string; readonly messageCount: string };
  readonly deleted?: { readonly sessionId: string };
}

export interface Received {
  readonly id: string;
  readonly body: string;
  readonly headers: IncomingHttpHeaders;
  readonly type: string;
  readonly timestamp: string;
  readonly data: {
    readonly namespace: string;
    readonly events?: readonly ToldEvent[];
    readonly resumeToken: string;
  };
  /** The status that it was answered with; undefined where it was not. */
  status?: number;
}

/** What to do with a request: answer with this status, perhaps with headers, or not at all, or end the connection. */
export type Reaction = number | "hang" | "close" | { readonly status: number; readonly headers: object };

/** A receiver of webhooks, which takes only what is signed. */
export class WebhookReceiver {
  /** All requests, in the order of their arrival. */
  readonly received: Received[] = [];
  react: () => Reaction = () => 204;
  readonly #server: Server;
  readonly #hanging = new Set<ServerResponse>();

  private constructor(secret: string) {
    this.#server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const body = Buffer.concat(chunks).toString();
      const { headers } = request;
      const reaction = this.react();
      const id = headers["webhook-id"] as string;
      if (headers["webhook-signature"] !== signatureOf(secret, `${id}.${headers["webhook-timestamp"]}.${body}`))
        return response.writeHead(401).end();
      const received: Received = { id, headers, body, ...JSON.parse(body) };
      this.received.push(received);
      if (reaction === "close") return request.socket.destroy();
      if (reaction === "hang") return this.#hanging.add(response);
      const { status, headers: more } = typeof reaction === "number" ? { status: reaction, headers: {} } : reaction;
      received.status = status;
      response.writeHead(status, more as Record<string, string>).end();
    });
  }

  /** Listens on a port, which is a free one when absent. */
  static async start({ secret = SECRET, port = 0 }: { secret?: string; port?: number } = {}): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver(secret);
    receiver.#server.listen(port, "127.0.0.1");
    await once(receiver.#server, "listening");
    return receiver;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/hook`;
  }

  /** The messages that were answered with 2xx, each once. */
  get accepted(): readonly Received[] {
    const accepted = this.received.filter(({ status }) => status !== undefined && status < 300);
    return [...new Map(accepted.map((one) => [one.id, one])).values()];
  }

  /** The events of the messages that were accepted. */
  get events(): readonly ToldEvent[] {
    return this.accepted.flatMap(({ data }) => data.events ?? []);
  }

  /** Resolves once an event about this session was accepted. */
  async until(kind: keyof ToldEvent, sessionId: string): Promise<void> {
    const isTold = () => this.events.some((event) => event[kind]?.sessionId === sessionId);
    await poll(isTold, `the receiver has heard that ${sessionId} was ${kind}`);
  }

  /** Resolves once it has got this many requests. */
  async untilReceived(count: number): Promise<void> {
    await poll(() => this.received.length >= count, `the receiver has got ${count} requests`);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function signatureOf(secret: string, content: string): string {
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  return `v1,${createHmac("sha256", key).update(content).digest("base64")}`;
}
