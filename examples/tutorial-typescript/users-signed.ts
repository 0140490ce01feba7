// Who asks: whoever the request's token names. Each user sees only their own chats.
import type { IncomingMessage } from "node:http";
import { createSessionPoolClient, type SessionPoolClient } from "session-pool-client";

export function clientFor(request: IncomingMessage): SessionPoolClient {
  const key = request.headers.authorization?.replace(/^Bearer /, "") ?? "none";
  return createSessionPoolClient({ baseUrl: "http://127.0.0.1:8080", key });
}
