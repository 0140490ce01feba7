import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { type Service, startService } from "../../src/commands/service.js";
import { createLogger } from "../../src/server/logging.js";
import { Bundler, documentedProgram } from "../clients/documented.js";
import { freePort } from "../support/free-port.js";
import { poll } from "../support/poll.js";
import { TEST_CONFIG } from "../support/server.js";
import { describeWith, needPrograms, run } from "../support/toolchain.js";
import { type Received, SECRET, WebhookReceiver } from "../support/webhook-receiver.js";

const bundler = new Bundler("webhook-");
const secretFile = join(bundler.folder, "secret");
writeFileSync(secretFile, SECRET, { mode: 0o600 });
afterAll(() => bundler.remove());

let receiver: ChildProcess | undefined;
let service: Service | undefined;
afterEach(async () => {
  await service?.stop();
  receiver?.kill("SIGKILL");
  if (receiver) await once(receiver, "exit");
});

async function send({ httpPort }: Service, method: string, path: string, body?: object): Promise<void> {
  const headers = { "content-type": "application/json" };
  const url = `http://127.0.0.1:${httpPort}${path}`;
  const answer = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  expect(answer.status).toBe(200);
}

/** The names of the fields of a value, in their order, with the types of what they hold. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== "object" || value === null) return typeof value;
  return Object.entries(value).map(([name, inner]) => [name, shapeOf(inner)]);
}

/** Starts a receiver, and expects it to print what a service posts, and to refuse what is not signed. */
async function expectToReceive(command: string, args: readonly string[], port: number): Promise<void> {
  let printed = "";
  receiver = spawn(command, args, { env: { ...process.env, WEBHOOK_SECRET: SECRET } });
  receiver.stdout?.on("data", (chunk) => {
    printed += chunk;
  });
  const url = `http://127.0.0.1:${port}/`;
  const forged = { "webhook-id": "msg_1", "webhook-timestamp": `${Math.floor(Date.now() / 1000)}` };
  const refused = async () => {
    const headers = { ...forged, "webhook-signature": "v1,AAAA" };
    const answer = await fetch(url, { method: "POST", headers, body: "{}" }).catch(() => undefined);
    return answer?.status === 401;
  };
  await poll(refused, "the receiver refuses what is not signed");
  const config = { ...TEST_CONFIG, webhook: { url, secretFile } };
  service = await startService(config, createLogger("silent"));
  const until = (line: string) => poll(() => printed.includes(`${line}\n`), `the receiver prints ${line}: ${printed}`);
  await until("list the sessions of default");
  await send(service, "POST", "/session", { sessionId: "trip" });
  await until("created trip");
  await send(service, "DELETE", "/session/trip");
  await until("deleted trip");
}

it("the message on the page has the fields of those that are sent", async () => {
  const checked = await WebhookReceiver.start();
  try {
    service = await startService({ ...TEST_CONFIG, webhook: { url: checked.url, secretFile } }, createLogger("silent"));
    await poll(() => checked.accepted.length > 0, "the receiver is asked to list the sessions");
    await send(service, "POST", "/session", { sessionId: "trip" });
    await checked.until("created", "trip");
    await send(service, "DELETE", "/session/trip");
    await checked.until("deleted", "trip");
    const [, { type, timestamp, data }] = checked.accepted as [Received, Received];
    const shown = JSON.parse(documentedProgram("json", "sessions.changed"));
    const events = checked.events.filter(({ created, deleted }) => created || deleted);
    expect(shapeOf(shown)).toEqual(shapeOf({ type, timestamp, data: { ...data, events } }));
  } finally {
    await checked.stop();
  }
});

describe("the receivers on the page", () => {
  it("in TypeScript takes what a service posts", async () => {
    const port = await freePort();
    const program = documentedProgram("ts", "timingSafeEqual").replace("9000", `${port}`);
    await expectToReceive(process.execPath, [await bundler.bundle("receiver", program)], port);
  });
});

await describeWith(
  "Python",
  async () => needPrograms("python3"),
  () => {
    it("takes what a service posts, by the receiver on the page", async () => {
      const port = await freePort();
      const path = join(bundler.folder, "receiver.py");
      writeFileSync(path, documentedProgram("python", "BaseHTTPRequestHandler").replace("9000", `${port}`));
      await expectToReceive("python3", [path], port);
    });
  },
);

await describeWith(
  "Go",
  async () => needPrograms("go"),
  () => {
    it("takes what a service posts, by the receiver on the page", async () => {
      const port = await freePort();
      const [source, program] = ["receiver.go", "receiver"].map((name) => join(bundler.folder, name));
      writeFileSync(source as string, documentedProgram("go", "hmac.New").replace("9000", `${port}`));
      await run("go", ["build", "-o", program as string, source as string]);
      await expectToReceive(program as string, [], port);
    });
  },
);
