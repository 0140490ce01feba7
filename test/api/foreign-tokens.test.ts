import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { type ServiceError, status } from "@grpc/grpc-js";
import { afterAll, describe, expect, it } from "vitest";
import { AnnotationService } from "../../gen/sessionpool/v1/annotation_service_pb.js";
import { AttachmentService, UploadAttachmentRequestSchema } from "../../gen/sessionpool/v1/attachment_service_pb.js";
import { MessageService } from "../../gen/sessionpool/v1/message_service_pb.js";
import { SessionService } from "../../gen/sessionpool/v1/session_service_pb.js";
import { UsageService } from "../../gen/sessionpool/v1/usage_service_pb.js";
import { API_METHODS } from "../../src/api/method-table.js";
import { hashRandomKey, newKey } from "../../src/server/auth/key-hash.js";
import { GrpcClient } from "../support/grpc-client.js";
import { freshDatabaseUrl, startMongoServer } from "../support/mongo-server.js";
import { poll } from "../support/poll.js";
import { freshSchemaUrl, startPostgresServer } from "../support/postgres-server.js";
import { startTestServer } from "../support/server.js";

interface Page {
  readonly nextPageToken?: string;
}

const mongo = await startMongoServer();
const postgres = await startPostgresServer({ fast: true });
const folder = mkdtempSync(join(tmpdir(), "session-pool-tokens-"));
const NAMESPACES = ["default", "other", "third"] as const;
const keys = Object.fromEntries(NAMESPACES.map((namespace) => [namespace, newKey()]));
const keysFile = join(folder, "keys.json");
writeFileSync(
  keysFile,
  JSON.stringify(
    Object.entries(keys).map(([namespace, key]) => ({
      ...{ name: namespace, hash: hashRandomKey(key), namespace, scope: "write" },
    })),
  ),
);

afterAll(async () => {
  await mongo?.stop();
  await postgres?.stop();
  rmSync(folder, { recursive: true });
});

/** Requests of each method that answers with page tokens. Each has more than one page. */
const LISTS: Readonly<Record<string, readonly JsonObject[]>> = {
  ListSessions: [
    {},
    { parentId: "x" },
    { label: ["a=1"] },
    { view: "SESSION_VIEW_FULL" },
    { view: "SESSION_VIEW_FULL", label: ["a=1"] },
    { parentId: "x", label: ["a=1"] },
  ],
  LoadSession: [{ sessionId: "x" }],
  ListMessages: [{ sessionId: "x" }, { sessionId: "x", newestFirst: true }, { sessionId: "x", includeAncestors: true }],
  ListAttachments: [{ sessionId: "x" }],
  ListAnnotations: [{ sessionId: "x" }, { sessionId: "x", messageId: "m1" }],
  SumUsage: [
    { groupBy: "session", limit: 1 },
    { groupBy: "session,label:a", limit: 1, label: ["a=1"] },
  ],
  SearchMessages: [{ q: "zebra" }, { q: "zebra", sessionId: "x" }, { q: "zebra", label: ["a=1"] }],
};

const stores: readonly [string, string | undefined][] = [
  ["memory", "memory:"],
  ["SQLite", `sqlite:${join(folder, "pool.db")}`],
  ["PostgreSQL", postgres ? freshSchemaUrl(postgres) : undefined],
  ["MongoDB", mongo ? freshDatabaseUrl(mongo) : undefined],
];

it("covers every method that takes page tokens", () => {
  const paged = [...API_METHODS].filter(({ desc }) => desc.input.fields.some(({ name }) => name === "page_token"));
  expect(paged.map(({ desc }) => desc.name).sort()).toEqual(Object.keys(LISTS).sort());
});

describe.each(stores)("on %s", (_name, storage) => {
  it.skipIf(storage === undefined)(
    "page and resume tokens are good in their own namespace and in no other",
    async () => {
      const config = { storage: storage as string, keysFile, search: true };
      const first = await startTestServer(config);
      // Processes share all stores but the one in memory.
      const second = storage === "memory:" ? first : await startTestServer(config);
      const client = new GrpcClient(first.grpcAddress);
      const others = new GrpcClient(second.grpcAddress);
      for (const key of Object.values(keys)) await fill(client, key);
      for (const [method, requests] of Object.entries(LISTS)) {
        for (const request of requests) {
          const what = `${method} ${JSON.stringify(request)}`;
          for (const own of NAMESPACES) {
            const { pageToken } = await pageOf(client, method, request, keys[own] as string);
            expect(pageToken, what).not.toBe("");
            for (const namespace of NAMESPACES) {
              const { error } = await pageOf(others, method, { ...request, pageToken }, keys[namespace] as string);
              expect(error, `${what}: from ${own} in ${namespace}`).toBe(
                namespace === own ? undefined : status.INVALID_ARGUMENT,
              );
            }
          }
        }
      }
      for (const own of NAMESPACES) {
        const resumeToken = await firstResumeToken(client, { fromPosition: "0" }, keys[own] as string);
        expect(resumeToken).toEqual(expect.any(String));
        for (const namespace of NAMESPACES) {
          const outcome = await firstResumeToken(
            others,
            { resumeToken: resumeToken as string },
            keys[namespace] as string,
          );
          expect(outcome, `from ${own} in ${namespace}`).toEqual(
            namespace === own ? expect.any(String) : status.INVALID_ARGUMENT,
          );
        }
      }
      client.close();
      others.close();
      await first.stop();
      if (second !== first) await second.stop();
    },
  );
});

/** Makes the same sessions in each namespace. */
async function fill(client: GrpcClient, key: string): Promise<void> {
  const labels = { a: "1" };
  const must = async (service: Parameters<GrpcClient["call"]>[0], method: string, request: JsonObject) =>
    expect(await client.call(service, method, request, { key })).toHaveProperty("answer");
  await must(SessionService, "CreateSession", { sessionId: "x", labels });
  for (const sessionId of ["y", "z"]) await must(SessionService, "CreateSession", { sessionId, labels, parentId: "x" });
  for (const id of ["m1", "m2", "m3"]) {
    const upload = create(UploadAttachmentRequestSchema, { sessionId: "x", attachmentId: id });
    expect(await client.upload(AttachmentService.method.uploadAttachment, [upload], { key })).toHaveProperty("answer");
    const parts = [
      { type: "text", text: "zebra" },
      { type: "file", attachment: { attachmentId: id } },
    ];
    const message = { info: { id, role: "user", usage: { model: "m" } }, parts };
    await must(MessageService, "AppendMessage", { sessionId: "x", message });
    const annotation = { annotationId: id, messageId: "m1", thumb: "up" };
    await must(AnnotationService, "CreateAnnotation", { sessionId: "x", annotation });
  }
  const other = { info: { id: "n", role: "user", usage: { model: "m" } } };
  await must(MessageService, "AppendMessage", { sessionId: "y", message: other });
  const found = async () => (await pageOf(client, "SearchMessages", { q: "zebra" }, key)).pageToken !== "";
  await poll(found, "the messages are indexed");
}

/** Watches until the first event. Resolves to its resume token, or to the code with which the watch was refused. */
function firstResumeToken(client: GrpcClient, from: JsonObject, key: string): Promise<string | number> {
  const stream = client.stream(MessageService, "WatchMessages", { sessionId: "x", ...from }, { key });
  return new Promise((resolve) => {
    stream.on("error", ({ code }: ServiceError) => resolve(code));
    stream.on("data", ({ resumeToken }: { resumeToken: string }) => {
      resolve(resumeToken);
      stream.cancel();
    });
  });
}

async function pageOf(client: GrpcClient, method: string, request: JsonObject, key: string) {
  const services = {
    ...{ Messages: MessageService, Attachments: AttachmentService, Sessions: SessionService },
    ...{ Annotations: AnnotationService, Usage: UsageService },
  };
  const service = Object.entries(services).find(([name]) => method.endsWith(name))?.[1] ?? SessionService;
  const outcome = await client.call(service, method, { ...request, limit: 1 }, { key });
  if ("code" in outcome) return { pageToken: "", error: outcome.code };
  return { pageToken: (outcome.answer as Page).nextPageToken ?? "", error: undefined };
}
