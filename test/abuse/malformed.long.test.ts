import { execFileSync } from "node:child_process";
import { readdirSync, readlinkSync } from "node:fs";
import { expect, it } from "vitest";
import { Child, type Served } from "../support/child.js";
import { poll } from "../support/poll.js";
import { connectMalformed, OLD_NODE, TAKES_MALFORMED } from "./malformed.js";

/**
 * How many malformed connections each Node gets, and which programs these are, for example
 * `FUZZ_CONNECTIONS=200000 FUZZ_NODES=/opt/node22/bin/node,/opt/node24/bin/node`. `FUZZ_SEED` is the first seed.
 */
const connections = Number(process.env.FUZZ_CONNECTIONS ?? 20_000);
const chosen = process.env.FUZZ_NODES?.split(",");
const firstSeed = Number(process.env.FUZZ_SEED ?? 1);
const AT_A_TIME = 40;

interface Crash {
  readonly aroundSeed: number;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
}

it.for(chosen ?? [process.execPath])(
  "malformed connections do not end the server, and leave nothing behind, on %s",
  { timeout: 24 * 3_600_000 },
  async (node, context) => {
    if (chosen === undefined && !TAKES_MALFORMED) return context.skip(OLD_NODE);
    const version = execFileSync(node, ["--version"], { encoding: "utf8" }).trim();
    const crashes: Crash[] = [];
    let target = await serve(node);
    const idle = sockets(target);
    const begun = performance.now();
    let seed = firstSeed;
    const endSeed = firstSeed + connections;
    const report = (): string => {
      const seconds = Math.round((performance.now() - begun) / 1000);
      return `${version}: ${seed - firstSeed} malformed connections in ${seconds} s, ${crashes.length} crashes`;
    };
    while (seed < endSeed) {
      const { http, grpc } = portsOf(target);
      const work = Array.from({ length: AT_A_TIME }, async () => {
        while (seed < endSeed && isRunning(target)) {
          const mine = seed++;
          if (mine % 20_000 === 0) console.log(report());
          await connectMalformed(mine % 2 === 0 ? http : grpc, mine);
        }
      });
      await Promise.all(work);
      if (isRunning(target)) continue;
      const { code, signal, stderr } = await target.child.ended();
      crashes.push({ aroundSeed: seed, code, signal, stderr: stderr.slice(-2000) });
      console.log(`${version}: crashed`, crashes.at(-1));
      target = await serve(node);
    }
    console.log(report());
    await poll(() => sockets(target) <= idle, "the server has ended the sockets of clients that have left");
    target.child.kill("SIGTERM");
    expect(await target.child.ended()).toMatchObject({ code: 0 });
    expect(crashes).toEqual([]);
  },
);

function serve(node: string): Promise<Served> {
  return Child.serveOn({ node }, "--storage", "memory:", "--log-level", "warn", "--shutdown-s", "20");
}

function portsOf({ httpUrl, grpcAddress }: Served): { http: number; grpc: number } {
  return { http: Number(new URL(httpUrl).port), grpc: Number(new URL(`http://${grpcAddress}`).port) };
}

function isRunning({ child }: Served): boolean {
  return child.process.exitCode === null && child.process.signalCode === null;
}

/** How many sockets the process has. */
function sockets({ child }: Served): number {
  const folder = `/proc/${child.process.pid}/fd`;
  return readdirSync(folder).filter((name) => {
    try {
      return readlinkSync(`${folder}/${name}`).startsWith("socket:");
    } catch {
      return false;
    }
  }).length;
}
