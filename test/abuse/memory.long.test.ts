import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { poll } from "../support/poll.js";
import {
  type Attack,
  askByOtherHost,
  connectBroken,
  grpcHeaders,
  guessKeys,
  holdBodies,
  leaveUnread,
  leaveUnreadSockets,
  postHeaders,
  sendLargeHeaders,
  sendSparseBodies,
  staySilent,
  watchNewNames,
} from "./attacks.js";
import { OLD_NODE, TAKES_MALFORMED } from "./malformed.js";
import { type Observation, Observer } from "./observer.js";
import { KEYS, Target } from "./target.js";
import { repeat, smallRequests } from "./value-attacks.js";

/** How much its memory may grow during an attack, in MiB. */
const LIMIT_MIB = 300;
/** The same for silent connections, which take little more memory than their sockets. */
const SILENT_LIMIT_MIB = 130;
/**
 * How much processor time the server may use until it has answered a call of another client, in milliseconds. The worst
 * case, 250 pages of 3 MB that are requested at once, takes a quarter of it.
 */
const LIMIT_WORK_MS = 2000;
/** Rounds of calls that are observed during an attack. An attack has its full effect in the first seconds. */
const ROUNDS = 30;
const APPEND = "/sessionpool.v1.MessageService/AppendMessage";
const REST_APPEND = "/session/ordinary/message";

let target: Target;
let observer: Observer;
const attacks: Attack[] = [];

afterEach(async () => {
  for (const attack of attacks.splice(0)) attack.stop();
  observer.close();
  await target.stop();
});

describe("memory and other clients are not affected by", () => {
  beforeEach(async () => {
    await startObserved();
  });

  it("endless health watches of new services with names of 8 MB", async () => {
    attacks.push(watchNewNames(target.grpcUrl, 8_000_000));
    expectServed(await observeUntilRefused(10));
  });

  it("endless health watches of new services with short names", async () => {
    attacks.push(watchNewNames(target.grpcUrl, 900));
    expectServed(await observer.watchRounds(ROUNDS));
  });

  it.each([
    ["gRPC health, without a key", () => holdBodies(target.grpcUrl, grpcHeaders("/grpc.health.v1.Health/Check"))],
    ["gRPC", () => holdBodies(target.grpcUrl, grpcHeaders(APPEND, KEYS.hostile))],
    ["gRPC, with a key of scope read", () => holdBodies(target.grpcUrl, grpcHeaders(APPEND, KEYS.reader))],
    ["REST", () => holdBodies(target.httpUrl, postHeaders(REST_APPEND, "application/json", KEYS.hostile))],
    [
      "REST, with a key of scope read",
      () => holdBodies(target.httpUrl, postHeaders(REST_APPEND, "application/json", KEYS.reader)),
    ],
    ["Connect", () => holdBodies(target.httpUrl, postHeaders(APPEND, "application/json", KEYS.hostile))],
    ["gRPC on the HTTP port", () => holdBodies(target.httpUrl, grpcHeaders(APPEND, KEYS.hostile))],
  ])("bodies that stop one byte short, over %s", async (_front, start) => {
    attacks.push(start());
    expectServed(await observeUntilRefused(150));
  });

  it.each([
    ["gRPC health, without a key", () => sendSparseBodies(target.grpcUrl, grpcHeaders("/grpc.health.v1.Health/Check"))],
    ["gRPC", () => sendSparseBodies(target.grpcUrl, grpcHeaders(APPEND, KEYS.hostile))],
    ["REST", () => sendSparseBodies(target.httpUrl, postHeaders(REST_APPEND, "application/json", KEYS.hostile))],
  ])("bodies whose bytes arrive far apart, over %s", async (_front, start) => {
    const attack = start();
    attacks.push(attack);
    await poll(() => attack.sentBytes() > 2 * LIMIT_MIB * 2 ** 20, "enough bytes are sent");
    expectServed(await observer.watchRounds(ROUNDS));
  });

  it("pages that nobody reads, on one HTTP/2 connection", async () => {
    attacks.push(leaveUnread(target));
    expectServed(await observer.watchRounds(ROUNDS));
  });

  it("pages that nobody reads, on 150 HTTP/1.1 connections", async () => {
    attacks.push(leaveUnreadSockets(target));
    expectServed(await observer.watchRounds(ROUNDS));
  });

  it.each([1, 30])("headers of 100 KB in %d fields, on both ports", async (fields) => {
    const both = [sendLargeHeaders(target.grpcUrl, fields), sendLargeHeaders(target.httpUrl, fields)];
    attacks.push(...both);
    const seen = await observer.watchRounds(ROUNDS, () => both.every((attack) => attack.refused() >= 100));
    expectServed(seen);
  });

  it("malformed frames on both ports", async (context) => {
    if (!TAKES_MALFORMED) return context.skip(OLD_NODE);
    const both = [connectBroken(target.grpcUrl, 1), connectBroken(target.httpUrl, 1_000_000)];
    attacks.push(...both);
    const seen = await observer.watchRounds(ROUNDS, () => both.every((attack) => attack.refused() >= 500));
    expectServed(seen);
  });

  it("three answers of 3 MB that 150 pipelining clients ask for and do not read", async () => {
    attacks.push(leaveUnreadSockets(target, 150, 3));
    expectServed(await observer.watchRounds(ROUNDS));
  });
});

describe("with a heap of 256 MiB", () => {
  // Ten times as many values as a request may hold, and so many that most requests are decoded.
  it.each([
    [1_000_000, 50],
    [99_900, 10],
  ])(
    "requests of a few kilobytes with %i values each are refused, and others are served",
    async (count, times) => {
      await startObserved({ heapMiB: 256 });
      for (const request of smallRequests(count)) {
        const attack = repeat(target, [request]);
        attacks.push(attack);
        const seen = await observer.watchRounds(1, () => attack.refused() >= times || attack.answers.size > 1);
        attack.stop();
        expect([...attack.answers.keys()], request.name).toEqual(["invalid_argument"]);
        expect(attack.refused(), request.name).toBeGreaterThanOrEqual(times);
        expectServed(seen);
      }
    },
    300_000,
  );
});

describe("with 1,024 file descriptors, while 1,100 silent connections are open", () => {
  it.each(["grpcUrl", "httpUrl"] as const)("another client gets in (%s)", async (port) => {
    await startObserved({ descriptors: 1024 });
    attacks.push(staySilent(target[port], 1100));
    const seen = await observeUntilRefused(300);
    expectServed(seen);
    expect(seen.memoryMiB).toBeLessThan(SILENT_LIMIT_MIB);
  });
});

describe("while 100 connections guess keys", () => {
  it("twelve valid keys that were not seen before are all accepted, and others are served", async (context) => {
    if (process.platform !== "linux")
      return context.skip("only Linux has further loopback addresses without configuration");
    const chosenKeys = Array.from({ length: 12 }, (_, i) => `chosen-${i}`);
    await startObserved({ chosenKeys });
    attacks.push(guessKeys(target.httpUrl, "127.0.0.2"));
    const served = observeUntilRefused(500);
    const answers: number[] = [];
    // The keys are used in the reverse order of the file, so that each is compared with all that were not used yet.
    for (const key of chosenKeys.toReversed()) answers.push((await target.fetch("/session/ordinary", { key })).status);
    expectServed(await served);
    expect(answers).toEqual(chosenKeys.map(() => 200));
  });
});

describe("while a server without keys gets requests that name another host", () => {
  it("those requests are refused, and others are served", async () => {
    await startObserved({ isOpen: true });
    attacks.push(askByOtherHost(target.httpUrl));
    expectServed(await observeUntilRefused(500));
    const page = await target.fetch("/session");
    expect(await page.text()).toContain("ordinary");
  });
});

/** Starts a server, and an observer for it. */
async function startObserved(options?: Parameters<typeof Target.start>[0]): Promise<void> {
  target = await Target.start(options);
  observer = new Observer(target);
}

function expectServed(seen: Observation): void {
  expect(target.isRunning()).toBe(true);
  expect(seen.failures).toEqual([]);
  expect(seen.calls).toBeGreaterThan(2);
  expect(seen.mostWorkMs).toBeLessThan(LIMIT_WORK_MS);
  expect(seen.memoryMiB).toBeLessThan(LIMIT_MIB);
}

/**
 * Observes at least until the server has refused this many requests. An attack that it did not have to refuse would
 * prove nothing.
 */
async function observeUntilRefused(atLeast: number): Promise<Observation> {
  const refused = () => attacks.reduce((sum, attack) => sum + attack.refused(), 0);
  const seen = await observer.watchRounds(ROUNDS, () => refused() >= atLeast);
  expect(refused()).toBeGreaterThanOrEqual(atLeast);
  return seen;
}
