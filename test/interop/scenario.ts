import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Child } from "../support/child.js";
import { describeWith, run } from "../support/toolchain.js";

const SCENARIO = fileURLToPath(new URL("./scenario.json", import.meta.url));
const MAX_WHY = 1_000;

export interface Addresses {
  readonly grpcAddress: string;
  readonly httpUrl: string;
}

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Returns the command that runs a client. The client prints a line `{"step", "ok", "why"}` for each step of the
 * scenario.
 */
export type ClientOf = (addresses: Addresses, scenarioPath: string) => Command;

interface Step {
  readonly step: string;
  readonly then?: readonly Step[];
}

interface Report {
  readonly step: string;
  readonly ok: boolean;
  readonly why?: string | undefined;
}

const steps = namesOf((JSON.parse(await readFile(SCENARIO, "utf8")) as { steps: readonly Step[] }).steps);

/** Runs the scenario with a client against a server on a new SQLite file. Every step is a test. */
export function describeScenario(title: string, prepare: () => Promise<ClientOf>): Promise<void> {
  return describeWith(title, prepare, (clientOf) => {
    const reports = new Map<string, Report>();
    let folder: string;
    let server: Awaited<ReturnType<typeof Child.serve>>;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), "session-pool-interop-"));
      server = await Child.serve("--storage", `sqlite:${folder}/pool.db`);
      const { program, args, env } = clientOf(server, SCENARIO);
      for (const line of (await run(program, args, env === undefined ? {} : { env })).trim().split("\n")) {
        const report = JSON.parse(line) as Report;
        // Of an attachment with wrong bytes, the start is enough.
        reports.set(report.step, report.ok ? report : { ...report, why: report.why?.slice(0, MAX_WHY) });
      }
    });

    afterAll(async () => {
      server.child.kill("SIGTERM");
      expect((await server.child.ended()).code).toBe(0);
      await rm(folder, { recursive: true });
    });

    it.each(steps)("%s", (step) => {
      expect(reports.get(step)).toEqual({ step, ok: true });
    });

    it("reports no other steps", () => {
      expect([...reports.keys()].sort()).toEqual([...steps].sort());
    });
  });
}

function namesOf(list: readonly Step[]): string[] {
  return list.flatMap(({ step, then = [] }) => [...namesOf(then), step]);
}
