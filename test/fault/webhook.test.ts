import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { Child, type Served } from "../support/child.js";
import { freshDatabaseUrl, startMongoServer } from "../support/mongo-server.js";
import { poll } from "../support/poll.js";
import { freshSchemaUrl, startPostgresServer } from "../support/postgres-server.js";
import { SECRET, WebhookReceiver } from "../support/webhook-receiver.js";

const folder = mkdtempSync(join(tmpdir(), "session-pool-webhook-"));
const secretFile = join(folder, "secret");
writeFileSync(secretFile, SECRET, { mode: 0o600 });
const postgres = await startPostgresServer({ fast: true });
const mongo = await startMongoServer();
afterAll(async () => {
  await Promise.all([postgres?.stop(), mongo?.stop()]);
  rmSync(folder, { recursive: true });
});

let receiver: WebhookReceiver;
let running: Served[];

beforeEach(async () => {
  receiver = await WebhookReceiver.start();
  running = [];
});
afterEach(async () => {
  for (const { child } of running) {
    child.kill("SIGKILL");
    await child.ended();
  }
  await receiver.stop();
});

async function serve(storage: string): Promise<Served> {
  const flags = ["--storage", storage, "--webhook", receiver.url, "--webhook-secret-file", secretFile];
  const served = await Child.serve(...flags);
  running.push(served);
  return served;
}

async function create({ httpUrl }: Served, sessionId: string): Promise<void> {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${httpUrl}/session`, { method: "POST", headers, body: JSON.stringify({ sessionId }) });
  expect(answer.status, await answer.text()).toBe(200);
}

async function isSender({ httpUrl }: Served): Promise<boolean> {
  return (await (await fetch(`${httpUrl}/metrics`)).text()).includes("\nsession_pool_webhook_sender 1\n");
}

/** Kills the process that sends, while the receiver fails, and expects the other one to deliver everything. */
async function expectAnotherSender(storage: string): Promise<void> {
  const services = [await serve(storage), await serve(storage)];
  await poll(() => receiver.accepted.length > 0, "the receiver is asked to list the sessions");
  const [first, second] = (await isSender(services[0] as Served)) ? services : services.toReversed();
  const ids: string[] = [];
  const createSome = async (service: Served | undefined) => {
    for (let i = 0; i < 10; i++) {
      ids.push(`s${ids.length}`);
      await create(service as Served, ids.at(-1) as string);
    }
  };
  await createSome(first);
  await receiver.until("created", "s9");
  receiver.react = () => 500;
  await createSome(second);
  await receiver.untilReceived(receiver.received.length + 2);
  first?.child.kill("SIGKILL");
  await first?.child.ended();
  receiver.react = () => 200;
  await createSome(second);
  for (const id of ids) await receiver.until("created", id);
  expect(await isSender(second as Served)).toBe(true);
  expect(receiver.accepted.filter(({ type }) => type === "sessions.reset")).toHaveLength(1);
  await expectPlaceToLast(storage, second as Served);
}

/** A restart goes on after what was delivered. */
async function expectPlaceToLast(storage: string, before: Served): Promise<void> {
  before.child.kill("SIGTERM");
  expect(await before.child.ended()).toMatchObject({ code: 0 });
  const after = await serve(storage);
  await create(after, "last");
  await receiver.until("created", "last");
  expect(receiver.accepted.filter(({ type }) => type === "sessions.reset")).toHaveLength(1);
}

describe("the webhook of processes that share a SQLite file", () => {
  it("is sent by another one when the sender was killed", async () => {
    await expectAnotherSender(`sqlite:${join(folder, "killed.db")}`);
  });

  it("reaches a receiver that fails, closes connections, hangs and comes back", async () => {
    const service = await serve(`sqlite:${join(folder, "failing.db")}`);
    await poll(() => receiver.accepted.length > 0, "the receiver is asked to list the sessions");
    const reactions = [500, "close", "hang"] as const;
    let next = 0;
    receiver.react = () => reactions[next++] ?? 200;
    await create(service, "a");
    await receiver.until("created", "a");
    expect(next).toBeGreaterThan(reactions.length);
    await poll(() => service.child.stderr.includes("The webhook is delivered again"), "the success is logged");
    expect(service.child.stderr.match(/cannot be delivered/g)).toHaveLength(1);
  });
});

describe.skipIf(postgres === null)("the webhook of processes that share a PostgreSQL database", () => {
  it("is sent by another one when the sender was killed", async () => {
    await expectAnotherSender(freshSchemaUrl(postgres!));
  });

  it("is sent by one of them, with nothing missed, when a sender that was frozen wakes", async () => {
    const storage = freshSchemaUrl(postgres!);
    const first = await serve(storage);
    await poll(() => receiver.accepted.length > 0, "the receiver is asked to list the sessions");
    const second = await serve(storage);
    first.child.kill("SIGSTOP");
    await create(second, "meanwhile");
    await receiver.until("created", "meanwhile");
    first.child.kill("SIGCONT");
    await poll(async () => !(await isSender(first)), "the one that was frozen has noticed");
    for (const [i, service] of [first, second, first, second].entries()) {
      await create(service, `after${i}`);
      await receiver.until("created", `after${i}`);
    }
    expect(receiver.accepted.filter(({ type }) => type === "sessions.reset")).toHaveLength(1);
  });
});

describe.skipIf(mongo === null)("the webhook of processes that share a MongoDB database", () => {
  it("is sent by another one when the sender was killed", async () => {
    await expectAnotherSender(freshDatabaseUrl(mongo!));
  });
});
