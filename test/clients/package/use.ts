// Code that programs write with each entry point of the package. It is compiled but never run.
import { createReadStream } from "node:fs";
import { query, type SessionStore } from "@anthropic-ai/claude-agent-sdk";
import type { Session as AgentSession } from "@openai/agents-core";
import type { UIMessage } from "ai";
import { RootPool, SqliteStorageProvider } from "session-pool";
import {
  type Attachment,
  ConflictError,
  createSessionPoolClient,
  type Download,
  dateOf,
  type SearchHit,
  type Session,
  type SessionPoolClient,
  SessionView,
  text,
  textOf,
  timestampOf,
} from "session-pool-client";
import { loadUIMessages, saveUIMessages } from "session-pool-client/adapters/ai-sdk";
import { SessionPoolStore } from "session-pool-client/adapters/claude-agent";
import { SessionPoolSession } from "session-pool-client/adapters/openai-agents";
import { MessageService, type MessageWithParts } from "session-pool-client/gen";

const client: SessionPoolClient = createSessionPoolClient({ baseUrl: "http://127.0.0.1:8080", key: async () => "key" });

const { messageCount } = await client.sessions.getSession({ sessionId: "s" });
export const count: number | undefined = messageCount;
export const position: number = (await client.append("s", text("user", "Hello"), { expectedPosition: 3 })).position;

for await (const { event } of client.watch("s")) {
  if (event.case === "appended") console.log(textOf(event.value));
  // @ts-expect-error: there is no such event
  if (event.case === "nothing") break;
}

const filter = { label: ["topic=travel"], parentId: "p", view: SessionView.FULL, pageSize: 10 };
const times: (Date | undefined)[] = [];
for await (const session of client.listSessions(filter)) {
  const one: Session = session;
  times.push(dateOf(one.createTime));
}
for await (const hit of client.search("azaleas", { sessionId: "s" })) {
  const { position }: SearchHit = hit;
  times.push(new Date(position));
}
for await (const { info } of client.history("s", { since: new Date(), until: timestampOf(new Date()), offset: 3 }))
  times.push(dateOf(info?.timestamp));
await client.sessions.createSession({ title: "Kyoto", expireTime: new Date() });
export const current = (error: unknown): number | undefined =>
  error instanceof ConflictError ? error.current.revision : undefined;

const { size }: Attachment = await client.uploadAttachment("s", new Blob(["Kyoto"]), {
  name: "map.txt",
  createSession: true,
  onProgress: (sent: number, total: number | undefined) => console.log(sent, total),
});
await client.uploadAttachment("s", new Uint8Array(size));
await client.uploadAttachment("s", createReadStream("map.txt"), { signal: AbortSignal.timeout(1000) });
await client.uploadAttachment("s", "map.txt");
const download: Download = await client.downloadAttachment("s", "map", { offset: 1, length: 2 });
for await (const chunk of download) console.log(chunk.length, download.attachment.sha256);
export const parts: Promise<[Uint8Array, Blob, string]> = Promise.all([
  download.bytes(),
  download.blob(),
  download.text(),
]);
for await (const { attachmentId, messageIds } of client.listAttachments("s", { pageSize: 10 }))
  if (messageIds.length === 0) await client.deleteAttachment("s", attachmentId);
await client.append("s", { info: { role: "user" }, parts: [{ type: "file", attachment: { attachmentId: "map" } }] });

// @ts-expect-error: a position is a number
await client.append("s", text("user", "Hello"), { expectedPosition: "3" });

export const store: SessionStore = new SessionPoolStore(client);
export const transcript: AsyncIterable<{ type: string }> = query({
  prompt: "Plan a trip to Kyoto",
  options: { sessionStore: store },
});
export const session: AgentSession = new SessionPoolSession(client, "s");
export const messages: UIMessage[] = await loadUIMessages(client, "s");
await saveUIMessages(client, "s", messages);

export const generated: MessageWithParts["$typeName"] = "sessionpool.v1.MessageWithParts";
export const service: string = MessageService.typeName;

const rootPool = new RootPool({ storage: await SqliteStorageProvider.open(":memory:") });
export const embedded: number = await rootPool.sessions.getMessageCount("s");
