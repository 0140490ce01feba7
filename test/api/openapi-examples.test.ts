import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { newTicketSecret } from "../../src/server/auth/ticket-secrets.js";
import { startTestServer, type TestServer } from "../support/server.js";

/** The operations, each after those whose results it needs. Drafts are used before they end. */
const IN_ORDER = [
  "createSession",
  "appendMessage",
  "appendMessages",
  "listSessions",
  "getSession",
  "updateSession",
  "loadSession",
  "listMessages",
  "getMessage",
  "updateMessage",
  "countMessages",
  "searchMessages",
  "forkSession",
  "shareSession",
  "startDraft",
  "listDrafts",
  "extendDraft",
  "finishDraft",
  "uploadAttachment",
  "getAttachment",
  "listAttachments",
  "deleteAttachment",
  "createAnnotation",
  "listAnnotations",
  "updateAnnotation",
  "deleteAnnotation",
  "sumUsage",
  "revertSession",
  "unrevertSession",
  "createTicket",
  "revokeTickets",
  "truncateMessages",
  "listTodos",
  "listTodos2",
];

interface Parameter {
  readonly name?: string;
  readonly in?: string;
  readonly required?: boolean;
  readonly example?: string;
}

interface Operation {
  readonly operationId: string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example: object | string }>> };
}

const folder = mkdtempSync(join(tmpdir(), "session-pool-"));
const ticketSecretFile = join(folder, "secret");
writeFileSync(ticketSecretFile, newTicketSecret());
let server: TestServer;
const operations = new Map<string, { readonly method: string; readonly path: string; readonly body?: Body }>();

interface Body {
  readonly type: string;
  readonly text: string;
}

beforeAll(async () => {
  server = await startTestServer({ search: true, ticketSecretFile, undeleteMs: 86_400_000 });
  const { paths } = (await (await fetch(`${server.httpUrl}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, Operation>>;
  };
  for (const [template, item] of Object.entries(paths)) {
    for (const [method, { operationId, parameters, requestBody }] of Object.entries(item)) {
      const path = template.replace(/\{(\w+)\}/g, (_, name) => {
        const { example } = parameters.find((one) => one.in === "path" && one.name === name) ?? {};
        return encodeURIComponent(example as string);
      });
      const needed = parameters.filter((one) => one.in === "query" && one.example !== undefined);
      const query = new URLSearchParams();
      for (const { name = "", example = "" } of needed) query.set(name, example);
      const [[type, { example }] = ["", { example: "" }]] = Object.entries(requestBody?.content ?? {});
      const body = { type, text: typeof example === "string" ? example : JSON.stringify(example) };
      const operation = { method: method.toUpperCase(), path: `${path}?${query}`, ...(requestBody && { body }) };
      operations.set(operationId, operation);
    }
  }
});

afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

async function send(operationId: string, body?: object): Promise<void> {
  const found = operations.get(operationId);
  if (found === undefined) throw new Error(`${operationId} is not in the document`);
  const { method, path } = found;
  const response = await fetch(server.httpUrl + path, {
    method,
    headers: { "content-type": found.body?.type ?? "application/json" },
    body: body === undefined ? (found.body?.text ?? null) : JSON.stringify(body),
  });
  expect(response.status, `${operationId}: ${await response.text()}`).toBe(200);
}

it("the examples of the OpenAPI document work one after the other on an empty server", async () => {
  for (const operationId of IN_ORDER) await send(operationId);
  await send("createSession", { sessionId: "trip-to-copy-to" });
  for (const operationId of ["copyMessages", "deleteMessage", "deleteSession", "undeleteSession", "deleteSession"])
    await send(operationId);
  for (const operationId of ["createSession", "startDraft", "discardDraft"]) await send(operationId);
});

it("these examples cover every operation except the streams and eraseMessage, which needs another key", () => {
  const sent = [...IN_ORDER, "copyMessages", "discardDraft", "deleteMessage", "deleteSession", "undeleteSession"];
  const others = [...operations.keys()].filter((id) => !sent.includes(id));
  expect(others.sort()).toEqual(["eraseMessage", "watchMessages", "watchSessions"]);
});
