import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { firstServer } from "./first-server.js";

const inapplicable = async () => null;
const broken = async () => {
  throw new Error("it does not start\nand more");
};

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

it("returns the first server that there is", async () => {
  expect(await firstServer("Any", [inapplicable, broken, async () => "a", async () => "b"])).toBe("a");
});

it("says once why there is none", async () => {
  const folder = await mkdtemp(join(tmpdir(), "session-pool-first-server-"));
  vi.stubEnv("CI", "");
  vi.stubEnv("TMPDIR", folder);
  const warn = vi.spyOn(console, "warn").mockReturnValue();
  for (let i = 0; i < 2; i++) expect(await firstServer("Any", [inapplicable, broken])).toBeNull();
  expect(warn.mock.calls).toEqual([["Any tests skipped: no server (broken: it does not start)"]]);
  await rm(folder, { recursive: true });
});

it("fails in CI when there is none", async () => {
  vi.stubEnv("CI", "true");
  await expect(firstServer("Any", [inapplicable, broken])).rejects.toThrow("Any tests skipped: no server");
});
