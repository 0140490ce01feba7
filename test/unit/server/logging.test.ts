import { Writable } from "node:stream";
import { expect, it } from "vitest";
import { createLogger } from "../../../src/server/logging.js";
import { poll } from "../../support/poll.js";

/** A name that a caller might choose to forge a line, to color it, or to hide a part of it. */
const NAME = "a\u001b[31m\nINFO\u009b31m\u0085\u2028\u202eb\u007f";
const SHOWN = "a\\u001b[31m\\nINFO\\u009b31m\\u0085\\u2028\\u202eb\\u007f";

it.each([
  ["JSON", false],
  ["text for a terminal", true],
])("shows characters that a terminal would follow, as %s", async (_format, terminal) => {
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
