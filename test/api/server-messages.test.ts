import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { afterAll, afterEach, expect, it } from "vitest";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { SqliteLogDatabase } from "../../src/storage/sqlite/sqlite-log-database.js";
import { Child, type Served } from "../support/child.js";
import { poll } from "../support/poll.js";

const YEAR_MICROS = 365 * 86_400_000_000;

const folder = mkdtempSync(join(tmpdir(), "session-pool-messages-"));
const children: Child[] = [];
let files = 0;

afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill("SIGTERM");
    expect(await child.ended()).toMatchObject({ code: 0 });
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

function newFile(): string {
  return `${folder}/pool-${++files}.db`;
}

async function serve(file: string, ...args: readonly string[]): Promise<Served> {
  const served = await Child.serve("--storage", `sqlite:${file}`, ...args);
  children.push(served.child);
  return served;
}

async function send({ httpUrl }: Served, method: string, path: string, body?: object) {
  const response = await fetch(httpUrl + path, {
    method,
    headers: { "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/**
 * Follows a session. The list that is returned grows with the data of each server-sent event, until the service ends
 * the stream.
 */
function follow({ httpUrl }: Served, sessionId: string): Record<string, unknown>[] {
  const events: Record<string, unknown>[] = [];
  void (async () => {
    const headers = { accept: "text/event-stream" };
    const response = await fetch(`${httpUrl}/session/${sessionId}/message:watch?from_position=0`, { headers });
    let rest = "";
    for await (const chunk of (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream())) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line.startsWith("data:")) events.push(JSON.parse(line.slice(5)));
    }
  })().catch(() => {
    // The server was stopped.
  });
  return events;
}

it("finishes abandoned drafts once, even if two processes look for them, and discards those with discardWhenAbandoned", async () => {
  const file = newFile();
  const [one, two] = [await serve(file, "--draft-timeout-s", "1"), await serve(file, "--draft-timeout-s", "1")];
  await send(one, "POST", "/session", { sessionId: "s" });
  for (const [id, discardWhenAbandoned] of [
    ["kept", false],
    ["dropped", true],
  ] as const) {
    const message = { info: { id, role: "assistant" }, parts: [{ type: "text", text: "half" }] };
    expect(await send(one, "POST", "/session/s/draft", { message, discardWhenAbandoned })).toMatchObject({
      status: 200,
    });
  }
  await poll(async () => {
    const { drafts } = (await send(two, "GET", "/session/s/draft")).body;
    return drafts === undefined || (drafts as unknown[]).length === 0;
  }, "the drafts have ended");
  for (const served of [one, two]) {
    expect((await send(served, "GET", "/session/s/message")).body).toMatchObject({
      messages: [{ info: { id: "kept", metadata: { interrupted: true } }, parts: [{ text: "half" }] }],
    });
    const late = { version: "1", deltas: [{ appendText: { text: "late" } }] };
    expect(await send(served, "POST", "/session/s/draft/kept:extend", late)).toMatchObject({ status: 400 });
    expect(await send(served, "POST", "/session/s/draft/dropped:extend", late)).toMatchObject({ status: 400 });
  }
});

it("hides sessions that were not changed for the time of retention, and sweeps them", async () => {
  const file = newFile();
  const database = await SqliteLogDatabase.open(file);
  const nowMicros = () => Date.now() * 1000 - YEAR_MICROS;
  const longAgo = new LogHistoryProvider(database.namespace("default"), { nowMicros });
  await longAgo.createSession({ sessionId: "old" });
  await longAgo.close();
  await database.close();
  const served = await serve(file, "--retention-days", "30", "--sweep-interval-s", "1");
  await send(served, "POST", "/session", { sessionId: "new" });
  expect(await send(served, "GET", "/session/old")).toMatchObject({ status: 404 });
  expect((await send(served, "GET", "/session")).body).toMatchObject({ sessions: [{ sessionId: "new" }] });
  expect(await send(served, "POST", "/session", { sessionId: "old", title: "again" })).toMatchObject({ status: 200 });
});

it("ends a session and its watches at its expire_time", async () => {
  const served = await serve(newFile(), "--sweep-interval-s", "1");
  await send(served, "POST", "/session", { sessionId: "s" });
  await send(served, "POST", "/session/s/message", { info: { role: "user" }, parts: [{ type: "text", text: "x" }] });
  const events = follow(served, "s");
  await poll(() => events.some((event) => "appended" in event), "the watch has begun");
  // A pause of more than the second and a half would let the time pass before the service reads it, which it refuses.
  const soon = () => ({ expireTime: new Date(Date.now() + 1500).toISOString() });
  await poll(async () => (await send(served, "PATCH", "/session/s", soon())).status === 200, "it will expire soon");
  await poll(async () => (await send(served, "GET", "/session/s")).status === 404, "the session has expired");
  await poll(() => events.at(-1)?.code === Code.NotFound, "the watch has ended");
  expect(await send(served, "POST", "/session/s/message", { info: { role: "user" } })).toMatchObject({ status: 404 });
});

it("reports to watchers of another process what was updated, deleted and erased", async () => {
  const file = newFile();
  const [one, two] = [await serve(file), await serve(file)];
  await send(one, "POST", "/session", { sessionId: "s" });
  const events = follow(two, "s");
  const message = (id: string) => ({ info: { id, role: "user" }, parts: [{ type: "text", text: `text of ${id}` }] });
  await send(one, "POST", "/session/s/message:batch", { messages: ["m1", "m2", "m3"].map(message) });
  const kinds = () => events.flatMap((event) => Object.keys(event)).filter((key) => key !== "resumeToken");
  await poll(() => kinds().filter((kind) => kind === "appended").length === 3, "the messages are reported");
  await send(one, "PATCH", "/session/s/message/m1", { parts: [{ type: "text", text: "new" }] });
  await poll(() => kinds().includes("updated"), "the update is reported");
  expect(events.at(-1)).toMatchObject({ updated: { info: { id: "m1", position: "0" }, parts: [{ text: "new" }] } });
  await send(one, "DELETE", "/session/s/message/m2");
  await poll(() => kinds().includes("deleted"), "the removal is reported");
  expect(events.at(-1)).toMatchObject({ deleted: { messageId: "m2", position: "1" } });
  await send(one, "POST", "/session/s/message/m3:erase", {});
  await poll(() => kinds().filter((kind) => kind === "updated").length === 2, "the erasure is reported");
  expect(events.at(-1)).toMatchObject({ updated: { info: { id: "m3", position: "1" }, parts: [{ type: "erased" }] } });
});
