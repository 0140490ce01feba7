import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { get, type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Child } from "../support/child.js";

const MIB = 1024 * 1024;
const SIZE = 64 * MIB;
const AT_A_TIME = 8;
/** How much the memory of the process may grow while eight attachments of 64 MiB are on their way. */
const MOST_MIB = 200;
const CHUNK = Buffer.alloc(64 * 1024, "azaleas ");

let folder: string;
let child: Child;
let port: number;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "session-pool-attachments-"));
  const served = await Child.serveLimited({ descriptors: 4096 }, "--storage", `sqlite:${join(folder, "pool.db")}`);
  child = served.child;
  port = Number(new URL(served.httpUrl).port);
  await upload("warm-up", MIB);
});

afterAll(async () => {
  child.kill("SIGKILL");
  await child.ended();
  rmSync(folder, { recursive: true });
});

function memoryMiB(): number {
  const status = readFileSync(`/proc/${child.process.pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024;
}

/** Runs transfers, and resolves to how much the memory grew at most meanwhile, in MiB. */
async function growthOf(run: () => Promise<unknown>): Promise<number> {
  const before = memoryMiB();
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, memoryMiB());
  }, 20);
  const begun = performance.now();
  await run().finally(() => clearInterval(timer));
  console.log(`${Math.round(performance.now() - begun)} ms, memory +${Math.round(most - before)} MiB`);
  return most - before;
}

async function upload(id: string, size: number): Promise<void> {
  const path = `/session/s/attachment?create_session=true&attachment_id=${id}`;
  const outgoing = request({ port, method: "POST", path, headers: { "content-length": size }, agent: false });
  const chunks = Readable.from(
    (function* () {
      for (let at = 0; at < size; at += CHUNK.length) yield CHUNK;
    })(),
  );
  const answered = once(outgoing, "response") as Promise<[IncomingMessage]>;
  await pipeline(chunks, outgoing);
  const [response] = await answered;
  expect([response.statusCode, JSON.parse(Buffer.concat(await response.toArray()).toString()).size]).toEqual([
    200,
    String(size),
  ]);
}

async function download(id: string): Promise<void> {
  const outgoing = get({ port, path: `/session/s/attachment/${id}`, agent: false });
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  let size = 0;
  for await (const chunk of response) size += chunk.length;
  expect(size).toBe(SIZE);
}

const each = (run: (id: string) => Promise<void>) =>
  Promise.all(Array.from({ length: AT_A_TIME }, (_, i) => run(`a${i}`)));

describe("the memory of the process stays flat", () => {
  it("while attachments of 64 MiB are uploaded", async () => {
    expect(await growthOf(() => each((id) => upload(id, SIZE)))).toBeLessThan(MOST_MIB);
  });

  it("while they are downloaded", async () => {
    expect(await growthOf(() => each(download))).toBeLessThan(MOST_MIB);
  });

  it("while dozens of downloads are not read, and others are served", async () => {
    const unread: IncomingMessage[] = [];
    const grown = await growthOf(async () => {
      for (let i = 0; i < 40; i++) {
        const outgoing = get({ port, path: `/session/s/attachment/a${i % AT_A_TIME}`, agent: false });
        outgoing.on("error", () => {});
        const [response] = (await once(outgoing, "response")) as [IncomingMessage];
        unread.push(response.on("error", () => {}));
      }
      expect((await fetch(`http://127.0.0.1:${port}/session/s`)).status).toBe(200);
    });
    expect(unread.map(({ statusCode }) => statusCode)).toEqual(unread.map(() => 200));
    expect(grown).toBeLessThan(MOST_MIB);
    for (const one of unread) one.destroy();
  });
});
