import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { isJSONRPCRequest, type JSONRPCMessage, type RequestId } from "@modelcontextprotocol/sdk/types.js";

/** Standard input and output as a transport that knows which requests are still to be answered. */
export class StdioTransport extends StdioServerTransport {
  readonly #unanswered = new Set<RequestId>();
  #onAllAnswered: () => void = () => {};

  constructor() {
    super();
    // The server calls this before its own listener.
    this.onmessage = (message) => this.#received(message);
  }

  override async send(message: JSONRPCMessage): Promise<void> {
    try {
      await super.send(message);
    } finally {
      if (!("method" in message)) this.#settle(message.id);
    }
  }

  /** Resolves when all requests that have arrived are answered, except for those that the client has canceled. */
  async allAnswered(): Promise<void> {
    if (this.#unanswered.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#onAllAnswered = resolve;
    });
  }

  #received(message: JSONRPCMessage): void {
    if (isJSONRPCRequest(message)) this.#unanswered.add(message.id);
    else if ("method" in message && message.method === "notifications/cancelled")
      this.#settle(message.params?.requestId as RequestId | undefined);
  }

  #settle(id: RequestId | undefined): void {
    if (id !== undefined && this.#unanswered.delete(id) && this.#unanswered.size === 0) this.#onAllAnswered();
  }
}
