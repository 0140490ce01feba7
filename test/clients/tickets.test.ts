import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Code, createSessionPoolClient, dateOf, text, textOf } from "../../clients/typescript/src/index.js";
import { newTicketSecret } from "../../src/server/auth/ticket-secrets.js";
import { type KeyedServer, startKeyedServer } from "../support/keyed-server.js";

const folder = mkdtempSync(join(tmpdir(), "session-pool-client-tickets-"));
let server: KeyedServer;

beforeAll(async () => {
  const ticketSecretFile = join(folder, "secret");
  writeFileSync(ticketSecretFile, newTicketSecret(), { mode: 0o600 });
  server = await startKeyedServer("write", { ticketSecretFile });
});

afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

it("a client makes tickets, and a client with a ticket uses one session until the tickets are revoked", async () => {
  const owner = createSessionPoolClient({ baseUrl: server.httpUrl, key: server.key });
  for (const id of ["kyoto", "nara"]) await owner.append(id, text("user", `About ${id}`), { createSession: true });
  const expireTime = new Date(Math.ceil(Date.now() / 1000) * 1000 + 60_000);
  const made = await owner.createTicket("kyoto", { scope: "write", expireTime });
  expect(made.expireTime && dateOf(made.expireTime)).toEqual(expireTime);

  const guest = createSessionPoolClient({ baseUrl: server.httpUrl, ticket: made.ticket });
  const draft = await guest.startDraft("kyoto", { info: { role: "assistant" } });
  draft.write("Late April");
  await draft.finish();
  await expect(guest.history("nara").next()).rejects.toMatchObject({ code: Code.PermissionDenied });
  await expect(guest.listSessions().next()).rejects.toMatchObject({ code: Code.PermissionDenied });

  const seen: string[] = [];
  const retried: string[] = [];
  const watching = (async () => {
    const onRetry = ({ rawMessage }: Error & { rawMessage: string }) => retried.push(rawMessage);
    for await (const { event } of guest.watch("kyoto", { fromPosition: 0, onRetry })) {
      if (event.case === "appended") seen.push(textOf(event.value));
      if (seen.length === 2) await owner.revokeTickets("kyoto");
    }
  })();
  await expect(watching).rejects.toMatchObject({ code: Code.Unauthenticated });
  expect({ seen, retried }).toEqual({ seen: ["About kyoto", "Late April"], retried: [] });

  const reader = await owner.createTicket("kyoto", { scope: "read" });
  const readOnly = createSessionPoolClient({ baseUrl: server.httpUrl, ticket: reader.ticket });
  expect((await readOnly.messages.countMessages({ sessionId: "kyoto" })).count).toBe(2);
  await expect(readOnly.append("kyoto", text("user", "More"))).rejects.toMatchObject({ code: Code.PermissionDenied });
});
