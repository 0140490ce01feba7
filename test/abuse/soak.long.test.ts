import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { MessageService } from "../../gen/sessionpool/v1/message_service_pb.js";
import { GrpcClient } from "../support/grpc-client.js";
import {
  type Attack,
  connectBroken,
  grpcHeaders,
  guessKeys,
  holdBodies,
  leaveUnread,
  leaveUnreadSockets,
  postHeaders,
  sendLargeHeaders,
  staySilent,
  watchNewNames,
} from "./attacks.js";
import { OLD_NODE, TAKES_MALFORMED } from "./malformed.js";
import { Observer } from "./observer.js";
import { KEYS, Target } from "./target.js";
import { repeat, smallRequests } from "./value-attacks.js";

const APPEND = "/sessionpool.v1.MessageService/AppendMessage";
const ROUND_MS = 15_000;
/** What docs/operations/limits.md tells operators to plan above the memory after the start, in MiB. */
const PLANNED_MIB = plannedMemory();
const WATCHERS = 50;

/** Some are refused by their number of values, and others are decoded first. */
const MANY_VALUES = [...smallRequests(1_000_000), ...smallRequests(99_900)];
/** How long the attacks last, for example `SOAK_MINUTES=20 npm run soak`. */
const minutes = Number(process.env.SOAK_MINUTES ?? 3);

it(
  "under all attacks at once, memory stays flat and no ordinary client or watcher is refused",
  async () => {
    if (!TAKES_MALFORMED) console.log(`${OLD_NODE}, so these attacks are left out`);
    const target = await Target.start({ descriptors: 1024, chosenKeys: ["chosen"] });
    const observer = new Observer(target);
    const watched = { events: 0, ends: [] as string[] };
    let isOver = false;
    const watchers = new GrpcClient(new URL(target.grpcUrl).host);
    for (let i = 0; i < WATCHERS; i += 1) watch(watchers, watched, () => isOver);

    const failures: string[] = [];
    let peakMiB = 0;
    let slowestMs = 0;
    let mostWorkMs = 0;
    let calls = 0;
    const refused = new Map<string, number>();
    const endMs = Date.now() + minutes * 60_000;
    for (let round = 1; Date.now() < endMs; round += 1) {
      const attacks = Object.entries(attacksOn(target, round)).map(([name, start]) => [name, start()] as const);
      const seen = await observer.watch(Math.min(ROUND_MS, endMs - Date.now()));
      const message = { info: { role: "user" }, parts: [{ type: "text", text: `round ${round}` }] };
      const appended = await target.fetch("/session/ordinary/message", { body: message });
      if (!appended.ok) failures.push(`append: ${appended.status} ${await appended.text()}`);
      for (const [name, attack] of attacks) {
        attack.stop();
        refused.set(name, (refused.get(name) ?? 0) + attack.refused());
      }
      failures.push(...seen.failures);
      peakMiB = Math.max(peakMiB, seen.memoryMiB);
      slowestMs = Math.max(slowestMs, seen.slowestMs);
      mostWorkMs = Math.max(mostWorkMs, seen.mostWorkMs);
      calls += seen.calls;
      console.log(
        `round ${round}: memory +${seen.memoryMiB} MiB at most, ${seen.calls} calls,`,
        `slowest ${seen.slowestMs} ms, most work in front of one ${seen.mostWorkMs} ms,`,
        `${seen.failures.length} refused, ${watched.events} events watched, ${watched.ends.length} watchers cut off,`,
      );
    }
    isOver = true;
    console.log(
      `\n${minutes} minutes: memory +${peakMiB} MiB at most, +${observer.grownNow()} MiB now,`,
      `slowest call ${slowestMs} ms, most work in front of one ${mostWorkMs} ms`,
    );
    console.log(`${calls} ordinary calls, ${failures.length} of them failed`, failures.slice(0, 5));
    console.log(`${watched.events} events watched, ${watched.ends.length} watchers cut off`, watched.ends.slice(0, 5));
    console.log("refused of each attack:", Object.fromEntries(refused));
    watchers.close();
    observer.close();
    await target.stop();
    expect(failures).toEqual([]);
    expect(watched.ends).toEqual([]);
    expect(peakMiB).toBeLessThan(PLANNED_MIB);
  },
  (minutes + 2) * 60_000,
);

function attacksOn(target: Target, round: number): Readonly<Record<string, () => Attack>> {
  return {
    "health names of 8 MB": () => watchNewNames(target.grpcUrl, 8_000_000),
    "health names": () => watchNewNames(target.grpcUrl, 900),
    "bodies to health": () => holdBodies(target.grpcUrl, grpcHeaders("/grpc.health.v1.Health/Check"), 50),
    "bodies by gRPC": () => holdBodies(target.grpcUrl, grpcHeaders(APPEND, KEYS.hostile), 50),
    "bodies by REST": () =>
      holdBodies(target.httpUrl, postHeaders("/session/ordinary/message", "application/json", KEYS.hostile), 50),
    "bodies with a read key": () =>
      holdBodies(target.httpUrl, postHeaders(APPEND, "application/json", KEYS.reader), 50),
    "unread pages by gRPC": () => leaveUnread(target, 60),
    "unread pages by HTTP/1.1": () => leaveUnreadSockets(target, 30),
    // Only Linux has further loopback addresses without configuration.
    ...(process.platform === "linux" && { "guessed keys": () => guessKeys(target.httpUrl, "127.0.0.2", 20) }),
    "many values in small requests": () => repeat(target, MANY_VALUES),
    "a header of 100 KB by gRPC": () => sendLargeHeaders(target.grpcUrl, 1),
    "a header of 100 KB by HTTP": () => sendLargeHeaders(target.httpUrl, 1),
    "many headers by gRPC": () => sendLargeHeaders(target.grpcUrl, 30),
    "many headers by HTTP": () => sendLargeHeaders(target.httpUrl, 30),
    ...(TAKES_MALFORMED && {
      "malformed frames to gRPC": () => connectBroken(target.grpcUrl, round * 1_000_000),
      "malformed frames to HTTP": () => connectBroken(target.httpUrl, round * 1_000_000 + 500_000),
    }),
    "silent connections": () => staySilent(target.grpcUrl, 1100),
  };
}

/**
 * Starts a watcher that counts the events it receives and collects the errors that end it. It starts again after an
 * error.
 */
function watch(client: GrpcClient, seen: { events: number; ends: string[] }, isOver: () => boolean): void {
  const stream = client.stream(MessageService, "WatchMessages", { sessionId: "ordinary" }, { key: KEYS.ordinary });
  stream.on("data", () => {
    seen.events += 1;
  });
  stream.on("error", (error) => {
    if (isOver()) return;
    seen.ends.push(error.message);
    setTimeout(() => watch(client, seen, isOver), 100);
  });
}

function plannedMemory(): number {
  const text = readFileSync(fileURLToPath(new URL("../../docs/operations/limits.md", import.meta.url)), "utf8");
  const [, mib] = /plan for [^.]*?(\d+) MiB above the memory after the start/.exec(text) ?? [];
  if (mib === undefined) {
    throw new Error("docs/operations/limits.md no longer says how much memory to plan");
  }
  return Number(mib);
}
