import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Service } from "./chaos-fleet.js";
import type { ClockShift } from "./clock-child.js";

/** The folder of the bundle, in which it finds its packages. */
const FOLDER = fileURLToPath(new URL("../../node_modules/.cache/session-pool/", import.meta.url));

const HERE = fileURLToPath(new URL(".", import.meta.url));

/** What takes the place of a minute, of ten minutes and of the interval between sweeps. */
export interface Ages {
  readonly staleMs: number;
  readonly sweepAgeMs: number;
  readonly sweepIntervalMs: number;
}

/** Bundles the service into one file that Node.js can run. */
export async function bundleClockChild(): Promise<{ readonly script: string; remove(): void }> {
  mkdirSync(FOLDER, { recursive: true });
  const script = `${FOLDER}clock-child-${process.pid}.mjs`;
  await build({
    // The clocks are replaced before any module reads them.
    stdin: { contents: 'import "./own-clocks.js"; import "./clock-child.js";', resolveDir: HERE, loader: "ts" },
    outfile: script,
    bundle: true,
    format: "esm",
    platform: "node",
    packages: "external",
    logLevel: "error",
  });
  return { script, remove: () => rmSync(script) };
}

/** A service process whose clocks the test can change. */
export class ClockService implements Service {
  readonly child: { readonly process: ChildProcess; kill(signal: NodeJS.Signals): void };
  readonly httpUrl: string;

  private constructor(process: ChildProcess, port: string) {
    this.child = { process, kill: (signal) => void process.kill(signal) };
    this.httpUrl = `http://127.0.0.1:${port}`;
  }

  static async start(script: string, storage: string, ages: Ages): Promise<ClockService> {
    const child = spawn(process.execPath, [script], {
      stdio: ["pipe", "pipe", "inherit"],
      env: {
        ...process.env,
        CHAOS_STORAGE: storage,
        CHAOS_STALE_MS: String(ages.staleMs),
        CHAOS_SWEEP_AGE_MS: String(ages.sweepAgeMs),
        CHAOS_SWEEP_INTERVAL_MS: String(ages.sweepIntervalMs),
      },
    });
    child.stdin?.on("error", () => {
      // Writing to a killed process fails, which is expected.
    });
    const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
    const [port] = (await Promise.race([once(lines, "line"), once(lines, "close").then(() => [""])])) as [string];
    if (port === "") throw new Error("The service did not start");
    return new ClockService(child, port);
  }

  shift(shift: ClockShift): void {
    this.child.process.stdin?.write(`${JSON.stringify(shift)}\n`);
  }
}
