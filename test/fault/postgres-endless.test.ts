import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { Child } from "../support/child.js";
import { poll } from "../support/poll.js";

const PORTS = ["--grpc-address", "127.0.0.1:0", "--http-address", "127.0.0.1:0"];
/** An ErrorResponse whose fields have no end: the driver looks for it for ever. */
const ENDLESS = Buffer.concat([Buffer.from("E"), Buffer.of(0, 0, 0, 9), Buffer.from("Mtext")]);

const children: Child[] = [];
const fakes: Server[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  for (const fake of fakes.splice(0)) fake.close();
});

describe("a service whose main thread computes without end, because of what PostgreSQL sends", () => {
  it("ends by itself while it is still starting, and says why", async () => {
    const { url } = await startEndlessServer();
    expect(await start("serve", ...PORTS, "--storage", url, "--shutdown-s", "1").ended()).toMatchObject({
      signal: "SIGKILL",
      stderr: expect.stringContaining("The process has computed without a pause for too long"),
    });
  });

  it("ends by itself with two workers, too", async () => {
    const { url } = await startEndlessServer();
    const child = start("serve", ...PORTS, "--storage", url, "--shutdown-s", "1", "--workers", "2");
    expect(await child.ended()).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("A worker ended at its start"),
    });
  });

  it("is ended by SIGTERM while it runs a command", async () => {
    const fake = await startEndlessServer();
    const child = start("sweep", "--storage", fake.url);
    await poll(fake.hasTrapped, "the main thread computes without end");
    child.kill("SIGTERM");
    expect(await child.ended()).toMatchObject({ signal: "SIGTERM" });
  });
});

async function startEndlessServer(): Promise<{ url: string; hasTrapped(): boolean }> {
  let hasTrapped = false;
  const fake = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write(ENDLESS);
      hasTrapped = true;
    });
  }).listen(0, "127.0.0.1");
  fakes.push(fake);
  await once(fake, "listening");
  const { port } = fake.address() as AddressInfo;
  return { url: `postgres://127.0.0.1:${port}/x`, hasTrapped: () => hasTrapped };
}

function start(...args: readonly string[]): Child {
  const child = new Child(args);
  children.push(child);
  return child;
}
