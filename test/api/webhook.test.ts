import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Service, startService } from "../../src/commands/service.js";
import type { ServeConfig } from "../../src/config/config.js";
import { hashRandomKey } from "../../src/server/auth/key-hash.js";
import { MemoryLogDatabase } from "../../src/storage/memory/memory-log-database.js";
import type { MemoryLogStore } from "../../src/storage/memory/memory-log-store.js";
import { freePort } from "../support/free-port.js";
import { poll } from "../support/poll.js";
import { TEST_CONFIG } from "../support/server.js";
import { TestLogger } from "../support/test-logger.js";
import { SECRET, type ToldEvent, WebhookReceiver } from "../support/webhook-receiver.js";

const folder = mkdtempSync(join(tmpdir(), "session-pool-webhook-"));
const secretFile = join(folder, "secret");
writeFileSync(secretFile, `${SECRET}\n`, { mode: 0o600 });
afterAll(() => rmSync(folder, { recursive: true }));

const SOON = { lease: { renewMs: 20, expireMs: 60_000 }, firstRetryMs: 10, timeoutMs: 3000 };

let receiver: WebhookReceiver;
let url: string;
let logger: TestLogger;
let running: Service[];
let files = 0;

beforeEach(async () => {
  receiver = await WebhookReceiver.start();
  url = receiver.url;
  logger = new TestLogger();
  running = [];
});
afterEach(async () => {
  for (const service of running) await service.stop();
  await receiver.stop();
});

async function serve(config: Partial<ServeConfig> = {}): Promise<Service> {
  const all = { ...TEST_CONFIG, webhook: { url, secretFile }, ...config };
  const service = await startService(all, logger.pino, { webhookTimes: SOON });
  running.push(service);
  return service;
}

const freshFile = () => `sqlite:${join(folder, `${files++}.db`)}`;

async function stop(service: Service): Promise<void> {
  running = running.filter((one) => one !== service);
  await service.stop();
}

async function call({ httpPort }: Service, method: string, path: string, body?: object, key?: string) {
  const headers = { "content-type": "application/json", ...(key && { authorization: `Bearer ${key}` }) };
  const url = `http://127.0.0.1:${httpPort}${path}`;
  const answer = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  expect(answer.status, await answer.clone().text()).toBe(200);
  return answer;
}

const create = (service: Service, sessionId: string) => call(service, "POST", "/session", { sessionId });

async function metric(service: Service, name: string): Promise<number | undefined> {
  const text = await (await call(service, "GET", "/metrics")).text();
  const [, value] = new RegExp(`^session_pool_webhook_${name} (\\S+)$`, "m").exec(text) ?? [];
  return value === undefined ? undefined : Number(value);
}

/** Starts a service whose receiver has been asked to list the sessions. */
async function begun(config: Partial<ServeConfig> = {}): Promise<Service> {
  const service = await serve(config);
  await poll(() => receiver.accepted.length > 0, "the receiver is asked to list the sessions");
  return service;
}

describe("the webhook", () => {
  it("asks the receiver to list the sessions, and then tells it what REST tells a watch after the same token", async () => {
    const service = await begun();
    const [reset] = receiver.accepted;
    expect(reset).toMatchObject({ type: "sessions.reset", data: { namespace: "default" } });
    await create(service, "a");
    await call(service, "POST", "/session/a/message", { info: { id: "m", role: "user" }, parts: [] });
    await create(service, "b");
    await call(service, "DELETE", "/session/b");
    await receiver.until("deleted", "b");
    const told = receiver.accepted.filter(({ type }) => type === "sessions.changed");
    expect(Object.keys(told[0]?.data ?? {})).toEqual(["namespace", "events", "resumeToken"]);
    expect(told[0]?.headers).toMatchObject({
      "content-type": "application/json",
      "webhook-id": expect.stringMatching(/^msg_[\w-]{27}$/),
      "user-agent": expect.stringMatching(/^session-pool\//),
    });
    const stateOfA = () => receiver.events.map(({ created, changed }) => created ?? changed).findLast(isA);
    const isA = (state: { readonly sessionId: string } | undefined) => state?.sessionId === "a";
    await poll(() => stateOfA()?.messageCount === "1", "the receiver hears of the message");
    const { created } = (await firstOf(service, reset?.data.resumeToken as string, "a")) as ToldEvent;
    expect(stateOfA()).toEqual(created);
  });

  it("tries a message again with the same id until it is taken, and says so once", async () => {
    const service = await begun();
    const reactions = [500, "close", "hang", { status: 302, headers: { location: receiver.url } }, 404, 429] as const;
    let next = 0;
    receiver.react = () => reactions[next++] ?? 200;
    await create(service, "a");
    await receiver.until("created", "a");
    const attempts = receiver.received.filter(({ type }) => type === "sessions.changed");
    expect(attempts.length).toBeGreaterThanOrEqual(reactions.length + 1);
    expect(new Set(attempts.slice(0, reactions.length + 1).map(({ id }) => id)).size).toBe(1);
    await poll(() => logger.lines.some(({ failures }) => failures === reactions.length), "the success is logged");
    const warnings = logger.lines.filter(({ level }) => level === 40);
    expect(warnings).toMatchObject([{ reason: "The receiver answered 500", namespace: "default" }]);
    const text = await (await call(service, "GET", "/metrics")).text();
    const results = [...text.matchAll(/^session_pool_webhook_attempts_total\{result="(\w+)"\} (\d+)$/gm)];
    expect(Object.fromEntries(results.map(([, result, count]) => [result, Number(count)]))).toMatchObject({
      refused: 4,
      failed: 1,
      timeout: 1,
    });
  });

  it("warns at /readyz and in the metrics while the receiver fails, and changes are stored all the same", async () => {
    const service = await begun();
    receiver.react = () => 503;
    for (let i = 0; i < 200; i++) await create(service, `s${i}`);
    await poll(async () => ((await metric(service, "failures")) ?? 0) > 1, "failures are counted");
    expect(await (await call(service, "GET", "/readyz")).text()).toMatch(
      /^ok\nwarning: the webhook has failed since 20/,
    );
    expect(await metric(service, "unsent_age_seconds")).toBeGreaterThan(0);
    expect(await metric(service, "sender")).toBe(1);
    receiver.react = () => 200;
    await receiver.until("created", "s199");
    expect(new Set(receiver.events.flatMap(({ created }) => created?.sessionId ?? [])).size).toBe(200);
    for (const { data } of receiver.accepted) expect(data.events?.length ?? 0).toBeLessThanOrEqual(100);
    await poll(async () => (await (await call(service, "GET", "/readyz")).text()) === "ok\n", "the warning is gone");
  });

  it("goes on after a restart where it was, with nothing missed", async () => {
    const storage = freshFile();
    const before = await begun({ storage });
    await create(before, "a");
    await receiver.until("created", "a");
    await stop(before);
    const without = await serve({ storage, webhook: undefined });
    await create(without, "b");
    await stop(without);
    await create(await serve({ storage }), "c");
    await receiver.until("created", "c");
    expect(receiver.events.some(({ created }) => created?.sessionId === "b")).toBe(true);
    expect(receiver.accepted.filter(({ type }) => type === "sessions.reset")).toHaveLength(1);
  });

  it("asks the receiver to list the sessions again when the store cannot tell any more what has changed", async () => {
    const storage = freshFile();
    await stop(await begun({ storage }));
    const isReset = ({ type }: { readonly type: string }) => type === "sessions.reset";
    // Every place is too old for a store that keeps nothing.
    const late = await serve({ storage, feedRetentionMs: -60_000 });
    await poll(() => receiver.accepted.filter(isReset).length > 1, "the receiver is asked again");
    expect(logger.lines).toContainEqual(
      expect.objectContaining({
        level: 40,
        namespace: "default",
        reason: expect.stringContaining("older than the feed"),
      }),
    );
    await poll(async () => ((await metric(late, "resets_total")) ?? 0) > 0, "it is counted");
    await create(late, "a");
    await receiver.until("created", "a");
  });

  it("is sent by one process at a time, and by another one as soon as that is stopped", async () => {
    const storage = freshFile();
    const services = [await begun({ storage }), await serve({ storage })];
    for (let i = 0; i < 10; i++) await create(services[i % 2] as Service, `s${i}`);
    for (let i = 0; i < 10; i++) await receiver.until("created", `s${i}`);
    const senders = await Promise.all(services.map((service) => metric(service, "sender")));
    expect(senders).toEqual([1, 0]);
    await stop(services[0] as Service);
    await create(services[1] as Service, "later");
    await receiver.until("created", "later");
    expect(receiver.accepted.filter(({ type }) => type === "sessions.reset")).toHaveLength(1);
  });

  it("tells of all namespaces, and names each", async () => {
    const keysFile = join(folder, "keys.json");
    const key = (namespace: string) => ({ name: namespace, hash: hashRandomKey(namespace), namespace, scope: "write" });
    writeFileSync(keysFile, JSON.stringify([key("one"), key("two")]));
    const storage = freshFile();
    const service = await serve({ storage, keysFile });
    const made = async (sessionId: string) => {
      for (const namespace of ["one", "two"]) await call(service, "POST", "/session", { sessionId }, namespace);
    };
    await made("a");
    await poll(() => receiver.accepted.length === 2, "the receiver is asked to list the sessions of both");
    await made("b");
    await poll(() => receiver.events.length >= 2, "the receiver hears of both");
    const told = receiver.accepted.filter(({ type }) => type === "sessions.changed");
    expect(told.map(({ data }) => data.namespace).sort()).toEqual(["one", "two"]);
  });

  it("stops soon although the receiver hangs, and repeats the message later", async () => {
    const storage = freshFile();
    const service = await begun({ storage });
    receiver.react = () => "hang";
    await create(service, "a");
    const before = receiver.received.length;
    await receiver.untilReceived(before + 1);
    await stop(service);
    receiver.react = () => 200;
    await serve({ storage });
    await receiver.until("created", "a");
  });

  it("logs no secret and no credentials", async () => {
    const port = await freePort();
    await receiver.stop();
    const url = `http://user:pass%20word@127.0.0.1:${port}/secret-path?token=secret-token`;
    const service = await serve({ webhook: { url, secretFile } });
    await poll(() => logger.lines.some(({ reason }) => reason !== undefined), "the failure is logged");
    receiver = await WebhookReceiver.start({ port });
    await create(service, "a");
    await receiver.untilReceived(1);
    const credentials = Buffer.from("user:pass word").toString("base64");
    expect(receiver.received[0]?.headers.authorization).toBe(`Basic ${credentials}`);
    expect(JSON.stringify(logger.lines)).not.toMatch(/secret-|pass|whsec/);
  });
});

describe("a service whose webhook cannot work", () => {
  it("does not start with a store that keeps no feed", async () => {
    const namespace = vi.spyOn(MemoryLogDatabase.prototype, "namespace").mockReturnValue({} as MemoryLogStore);
    await expect(serve()).rejects.toThrow(
      "--webhook needs a store that keeps a feed of its sessions, and memory: keeps none",
    );
    namespace.mockRestore();
  });

  it("does not start without a secret", async () => {
    const missing = join(folder, "missing");
    await expect(serve({ webhook: { url: receiver.url, secretFile: missing } })).rejects.toThrow(
      `Webhook secret file ${missing} cannot be read: ENOENT`,
    );
  });
});

/** The first event about a session that a watch over REST tells after a token. */
async function firstOf({ httpPort }: Service, resumeToken: string, sessionId: string): Promise<object> {
  const url = `http://127.0.0.1:${httpPort}/session:watch?resume_token=${resumeToken}`;
  const { body } = await fetch(url, { headers: { accept: "application/x-ndjson" } });
  let text = "";
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    text += Buffer.from(chunk).toString();
    for (const line of text.split("\n").slice(0, -1)) {
      const { resumeToken: _, ...event } = JSON.parse(line).result ?? JSON.parse(line);
      // Leaving the loop ends the watch.
      if ((event.created ?? event.changed)?.sessionId === sessionId) return event;
    }
  }
  throw new Error("The watch has ended");
}
