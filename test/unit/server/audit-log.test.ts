import { chmodSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { AuditLog } from "../../../src/server/audit-log.js";

/** How many bytes the disk takes; undefined while it has room. */
const disk = vi.hoisted(() => ({ room: undefined as number | undefined }));

vi.mock("node:fs", async (importOriginal) => {
  const fs = await importOriginal<typeof import("node:fs")>();
  const writeSync = (fd: number, bytes: Buffer | string) => {
    if (disk.room === undefined) return fs.writeSync(fd, bytes as Buffer);
    if (disk.room === 0) throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
    const written = fs.writeSync(fd, Buffer.from(bytes).subarray(0, disk.room));
    disk.room -= written;
    return written;
  };
  return { ...fs, writeSync };
});

let folder: string;
let path: string;
let told: unknown[];
let lost: number;
const umask = process.umask();
const logger = { warn: (...args: unknown[]) => told.push(args), error: (...args: unknown[]) => told.push(args) };

beforeEach(() => {
  vi.useFakeTimers();
  folder = mkdtempSync(join(tmpdir(), "session-pool-audit-"));
  path = join(folder, "audit.jsonl");
  told = [];
  lost = 0;
  disk.room = undefined;
  process.umask(0);
});

afterEach(() => {
  vi.useRealTimers();
  process.umask(umask);
  rmSync(folder, { recursive: true });
});

function open(): AuditLog {
  return new AuditLog(path, { logger: logger as never, onFailure: (count) => (lost += count) });
}

function lines(file = path): Record<string, unknown>[] {
  const text = readFileSync(file, "utf8");
  expect(text === "" || text.endsWith("\n")).toBe(true);
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

describe("AuditLog", () => {
  it("makes a file that only its user may open, and appends lines with their times", () => {
    const log = open();
    log.write({ action: "a", owner: undefined });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readFileSync(path, "utf8")).toMatch(/^\{"time":"\d{4}-\d\d-\d\dT[\d:.]+Z","action":"a"\}\n$/);
    log.close();
    const again = open();
    again.write({ action: "b" });
    again.close();
    expect(lines()).toMatchObject([{ action: "a" }, { action: "b" }]);
    expect(told).toEqual([]);
  });

  it("keeps names in one line that hold what some readers take for the end of one", () => {
    const log = open();
    const sessionId = 'a\u2028{"action":"b"}\u2029\u0085\n\r\v\f';
    log.write({ action: "a", sessionId });
    log.close();
    expect(readFileSync(path, "utf8").trimEnd()).toMatch(/^[\x20-\x7e]*$/);
    expect(lines()).toMatchObject([{ action: "a", sessionId }]);
  });

  it("warns of a file that others may open", () => {
    writeFileSync(path, "");
    chmodSync(path, 0o640);
    open().close();
    expect(String(told)).toContain("chmod 600");
  });

  it("refuses what is no file, and a folder that is missing", () => {
    path = "/dev/null";
    expect(open).toThrow("Audit log /dev/null cannot be written: it is not a file");
    path = folder;
    expect(open).toThrow(/^Audit log .* cannot be written: EISDIR/);
    path = join(folder, "none", "audit.jsonl");
    expect(open).toThrow(/^Audit log .* cannot be written: ENOENT/);
  });

  it("continues in a new file once it is opened anew after a move, and loses nothing", () => {
    const log = open();
    log.write({ action: "a" });
    renameSync(path, `${path}.1`);
    log.write({ action: "b" });
    log.reopen();
    log.write({ action: "c" });
    log.close();
    expect(lines(`${path}.1`)).toMatchObject([{ action: "a" }, { action: "b" }]);
    expect(lines()).toMatchObject([{ action: "c" }]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("keeps the file from before when the new one cannot be opened", () => {
    const log = open();
    renameSync(folder, `${folder}.moved`);
    log.reopen();
    log.write({ action: "a" });
    log.close();
    renameSync(`${folder}.moved`, folder);
    expect(lines()).toMatchObject([{ action: "a" }]);
    expect(String(told)).toContain("cannot be opened anew");
  });

  it("writes what waited for a full disk in order, and begins a line after half of one", () => {
    const log = open();
    log.write({ action: "a" });
    disk.room = 10;
    for (const action of ["b", "c", "d"]) log.write({ action });
    expect(log.isFailing).toBe(true);
    disk.room = undefined;
    vi.advanceTimersByTime(1000);
    expect(log.isFailing).toBe(false);
    log.write({ action: "e" });
    log.close();
    const [first, half, ...rest] = readFileSync(path, "utf8").trimEnd().split("\n");
    expect([first, ...rest].map((line) => JSON.parse(line!).action)).toEqual(["a", "b", "c", "d", "e"]);
    expect(half).toHaveLength(10);
    expect(lost).toBe(0);
  });

  it("counts the lines that are lost when too many wait, and says so in the file", () => {
    const log = open();
    disk.room = 0;
    for (let i = 0; i < 10_003; i++) log.write({ i });
    disk.room = undefined;
    vi.advanceTimersByTime(1000);
    log.close();
    const written = lines();
    expect(written).toHaveLength(10_001);
    expect(written.at(-1)).toMatchObject({ action: "lost", count: 3 });
    expect(lost).toBe(3);
  });

  it("begins a line of its own after half a line of another process", () => {
    writeFileSync(path, '{"time":"20', { mode: 0o600 });
    const log = open();
    log.write({ action: "a" });
    log.close();
    expect(readFileSync(path, "utf8")).toMatch(/^\{"time":"20\n\{"time":.*\n$/);
  });
});
