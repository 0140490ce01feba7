import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { addTicketSecret, dropOldTicketSecret } from "../../../src/commands/ticket-secret.js";

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "session-pool-ticket-secret-"));
  path = join(folder, "secret");
});

afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

const lines = () => readFileSync(path, "utf8").split("\n");

it("makes a file that only its owner can read, and shows no secret", async () => {
  const write = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  await addTicketSecret(path);
  expect(lines()).toEqual([expect.stringMatching(/^[\w-]{43}$/), ""]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(write).not.toHaveBeenCalled();
});

it("prints a secret where no file is given", async () => {
  const write = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  await addTicketSecret(undefined);
  expect(write.mock.calls).toEqual([[expect.stringMatching(/^[\w-]{43}\n$/)]]);
});

it("changes the secret in two steps, and keeps the mode of the file", async () => {
  await addTicketSecret(path);
  const [first] = lines();
  chmodSync(path, 0o640);
  await addTicketSecret(path);
  const [second, old] = lines();
  expect(old).toBe(first);
  expect(second).not.toBe(first);
  await expect(addTicketSecret(path)).rejects.toThrow(`Ticket secret file ${path} has two secrets already`);
  await dropOldTicketSecret(path);
  expect(lines()).toEqual([second, ""]);
  expect(statSync(path).mode & 0o777).toBe(0o640);
  await expect(dropOldTicketSecret(path)).rejects.toThrow(`Ticket secret file ${path} has only one secret`);
});

it("leaves a file alone that is none of secrets", async () => {
  writeFileSync(path, "short\n");
  await expect(addTicketSecret(path)).rejects.toThrow("a secret must have 43 to 1024 visible characters");
  await expect(dropOldTicketSecret(path)).rejects.toThrow("a secret must have 43 to 1024 visible characters");
  expect(lines()).toEqual(["short", ""]);
});

it("removes no secret without a file", async () => {
  await expect(dropOldTicketSecret(undefined)).rejects.toThrow("--drop-old needs --file");
  await expect(dropOldTicketSecret(path)).rejects.toThrow(`ENOENT: no such file or directory, open '${path}'`);
});
