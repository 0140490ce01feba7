import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { print, printAndDrain } from "../../../src/commands/print.js";

const said: string[] = [];
const others = process.stdout.listeners("error");

beforeEach(() => {
  said.length = 0;
  vi.spyOn(process.stdout, "write").mockReturnValue(true);
  vi.spyOn(process.stderr, "write").mockImplementation((text) => said.push(`${text}`) > 0);
  vi.spyOn(process, "exit").mockImplementation((code) => {
    said.push(`exit ${code}`);
    return undefined as never;
  });
});

afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
});

/** Lets standard output fail, and returns what was said on standard error and the exit code. */
function failing(code: string): readonly string[] {
  print("a line");
  const error = Object.assign(new Error(`write ${code}`), { code });
  for (const listener of process.stdout.listeners("error")) if (!others.includes(listener)) listener(error);
  return said;
}

it("ends without a word when nobody reads the output any more", () => {
  expect(failing("EPIPE")).toEqual(["exit 1"]);
});

it("ends with the error when the output cannot be stored", () => {
  expect(failing("ENOSPC")).toEqual(["session-pool: write ENOSPC\n", "exit 1"]);
});

it("waits for a slow reader, until it is told to stop", async () => {
  vi.spyOn(process.stdout, "writableNeedDrain", "get").mockReturnValue(true);
  const stopped = new AbortController();
  let isPrinted = false;
  const printed = printAndDrain("a line", stopped.signal).then(() => {
    isPrinted = true;
  });
  await new Promise(setImmediate);
  expect(isPrinted).toBe(false);
  process.stdout.emit("drain");
  await printed;
  const waiting = printAndDrain("another line", stopped.signal);
  stopped.abort();
  await expect(waiting).rejects.toThrow("aborted");
});
