// Who asks: everybody is the same user.
import type { IncomingMessage } from "node:http";
import { createSessionPoolClient, type SessionPoolClient } from "session-pool-client";

const client = createSessionPoolClient({ baseUrl: "http://127.0.0.1:8080" });

export function clientFor(_request: IncomingMessage): SessionPoolClient {
  return client;
}
