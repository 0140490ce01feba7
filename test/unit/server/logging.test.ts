import { closeSync, existsSync, openSync } from "node:fs";
import { Writable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { createLogger, logFile } from "../../../src/server/logging.js";
import { poll } from "../../support/poll.js";

/** A name that a caller might choose to forge a line, to color it, or to hide a part of it. */
const NAME = "a\u001b[31m\nINFO\u009b31m\u0085\u2028\u202eb\u007f";
const SHOWN = "a\\u001b[31m\\nINFO\\u009b31m\\u0085\\u2028\\u202eb\\u007f";

it.each([
  ["JSON", false],
  ["text for a terminal", true],
])("escapes control characters that a terminal would obey, as %s", async (_format, terminal) => {
  let written = "";
  const out = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      written += chunk.toString();
      done();
    },
  });
  createLogger("info", terminal, out).info({ key: NAME }, "Call");
  await poll(() => written.includes("Call") && written.endsWith("\n"), "the line is written");
  expect(written).toContain(`"${SHOWN}"`);
  if (!terminal) expect(JSON.parse(written)).toMatchObject({ key: NAME, msg: "Call" });
});

it("writes each line for a terminal synchronously, so that none is lost when the process ends", () => {
  let written = "";
  const out = new Writable();
  out.write = (text: string) => {
    written += text;
    return true;
  };
  const logger = createLogger("info", true, out);
  logger.info("first");
  logger.info("second");
  expect(written).toMatch(/first\n.*second\n/);
});

// An error event without a listener would fail the run.
it("the logger stops writing, without an error, when the terminal is closed", async () => {
  let writes = 0;
  const out = new Writable({
    write: (_chunk, _encoding, done) => {
      writes += 1;
      done(new Error("write EIO"));
    },
  });
  const logger = createLogger("info", true, out);
  logger.info("first");
  await new Promise((resolve) => out.once("close", resolve));
  logger.info("second");
  await setImmediate();
  expect(writes).toBe(1);
});

// An error event without a listener would fail the run, and a last flush that does not end would stop it.
it.skipIf(!existsSync("/dev/full"))("the logger continues while the disk is full", async () => {
  const full = openSync("/dev/full", "w");
  const out = logFile(full);
  const logger = createLogger("info", false, out);
  for (const message of ["first", "second"]) {
    const failed = new Promise<{ code?: string }>((resolve) => out.once("error", resolve));
    logger.info(message);
    expect((await failed).code).toBe("ENOSPC");
  }
  out.flushSync();
  out.destroy();
  closeSync(full);
});
