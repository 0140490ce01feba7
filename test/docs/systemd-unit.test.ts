import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { Child, run } from "../support/child.js";
import { NotHere, needPrograms, ROOT, run as runProgram } from "../support/toolchain.js";

const PATH = join(ROOT, "docs/operations/session-pool.service");
const unit = readFileSync(PATH, "utf8");
const folder = mkdtempSync(join(tmpdir(), "session-pool-unit-"));

afterAll(() => rmSync(folder, { recursive: true }));

describe("the systemd unit", () => {
  it("is one that systemd understands", async (context) => {
    try {
      needPrograms("systemd-analyze");
    } catch (error) {
      if (error instanceof NotHere) return context.skip(error.message);
      throw error;
    }
    // It complains on standard error, and fails only where the unit could not be started at all.
    const script = 'systemd-analyze verify "$1" 2>&1';
    expect(await runProgram("sh", ["-c", script, "sh", PATH])).toBe("");
  });

  it("waits longer for the end than the server takes", () => {
    const [, shutdownS] = /--shutdown-s (\d+)/.exec(unit) ?? [];
    const [, stopS] = /^TimeoutStopSec=(\d+)s$/m.exec(unit) ?? [];
    expect(Number(stopS)).toBeGreaterThanOrEqual(Number(shutdownS) + 2);
  });

  it("has a command line that serves, and ends as systemd ends it", async () => {
    const [, command = ""] = /^ExecStart=\/usr\/bin\/env node \S+\/dist\/main.js serve (.*)$/m.exec(unit) ?? [];
    const keysFile = join(folder, "keys.json");
    expect(await run(["keys", "add", "one", "--keys-file", keysFile])).toMatchObject({ code: 0 });
    // systemd gives the service a copy that it can only read.
    chmodSync(keysFile, 0o400);
    const folders = { STATE_DIRECTORY: folder, CREDENTIALS_DIRECTORY: folder };
    const args = command.replace(/\$\{(\w+)\}/g, (_, name: keyof typeof folders) => folders[name]).split(" ");
    const { child, httpUrl } = await Child.serveWith(environment(), ...args);
    expect((await fetch(`${httpUrl}/readyz`)).status).toBe(200);
    expect((await fetch(`${httpUrl}/session`)).status).toBe(401);
    expect(readdirSync(folder)).toContain("session-pool.db");
    child.kill("SIGTERM");
    expect(await child.ended()).toMatchObject({ code: 0 });
  });
});

/** What the unit itself sets. */
function environment(): Record<string, string> {
  const assignments = [...unit.matchAll(/^Environment=(.*)$/gm)].flatMap(([, some]) => (some as string).split(" "));
  return Object.fromEntries(assignments.map((one) => one.split("=") as [string, string]));
}
