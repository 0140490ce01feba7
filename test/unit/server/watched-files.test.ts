import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type WatchedFiles, watchFiles } from "../../../src/server/watched-files.js";
import { poll } from "../../support/poll.js";
import { TestLogger } from "../../support/test-logger.js";

const INTERVAL_MS = 5;
const FAILURE = "The file cannot be used";

let folder: string;
let path: string;
let logger: TestLogger;
let watched: WatchedFiles | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "session-pool-watched-"));
  path = join(folder, "file");
  logger = new TestLogger();
});

afterEach(() => {
  watched?.close();
  rmSync(folder, { recursive: true });
});

describe("a file that was changed", () => {
  it("is read again until that succeeds, although it does not change any more", async () => {
    writeFileSync(path, "old");
    let failures = 3;
    let used = "old";
    watch(() => {
      if (failures-- > 0) throw new Error("EMFILE: too many open files");
      used = readFileSync(path, "utf8");
    });
    writeFileSync(path, "newer");
    await poll(() => used === "newer", "the new content is used");
    expect(logger.lines).toMatchObject([{ level: 50, reason: "EMFILE: too many open files", msg: FAILURE }]);
  });

  it("is left alone once it has been read", async () => {
    writeFileSync(path, "old");
    let reads = 0;
    let failures = 1;
    watch(() => {
      reads += 1;
      if (failures-- > 0) throw new Error("not now");
    });
    writeFileSync(path, "newer");
    await poll(() => reads === 2, "the file is read");
    writeFileSync(path, "newest text");
    await poll(() => reads === 3, "the next change is read");
    expect(reads).toBe(3);
  });

  const states: Record<string, { spoil: () => void; mend: () => void }> = {
    "is missing": {
      spoil: () => rmSync(path),
      mend: () => writeFileSync(path, "[2]"),
    },
    "is missing, and then is the same file as before": {
      spoil: () => renameSync(path, `${path}.away`),
      mend: () => renameSync(`${path}.away`, path),
    },
    "is half written": {
      spoil: () => writeFileSync(path, "[1"),
      mend: () => writeFileSync(path, "[1,2]"),
    },
    "is empty": {
      spoil: () => writeFileSync(path, ""),
      mend: () => writeFileSync(path, "[3]"),
    },
    "is a folder": {
      spoil: () => {
        rmSync(path);
        mkdirSync(path);
      },
      mend: () => {
        rmSync(path, { recursive: true });
        writeFileSync(path, "[4]");
      },
    },
    "is a link that leads to itself": {
      spoil: () => {
        rmSync(path);
        symlinkSync("file", path);
      },
      mend: () => {
        rmSync(path);
        writeFileSync(path, "[5]");
      },
    },
  };

  it.each(Object.entries(states))("is used again after it %s", async (_state, { spoil, mend }) => {
    writeFileSync(path, "[0]");
    let used: string | undefined;
    watch(() => {
      const text = readFileSync(path, "utf8");
      JSON.parse(text);
      used = text;
    });
    spoil();
    await poll(() => logger.lines.length > 0, "the failure is logged");
    expect(used).toBeUndefined();
    mend();
    await poll(() => used !== undefined, "the file is read");
    expect(used).toBe(readFileSync(path, "utf8"));
  });
});

it("is read again until that succeeds after an attempt that was asked for has failed", async () => {
  writeFileSync(path, "same");
  let failures = 1;
  let reads = 0;
  const { reload } = watch(() => {
    if (failures-- > 0) throw new Error("not now");
    reads += 1;
  });
  reload();
  await poll(() => reads === 1, "the file is read");
});

it("logs each new reason at once, and one that stays every sixtieth time", async () => {
  let attempts = 0;
  watch(() => {
    attempts += 1;
    throw new Error(attempts <= 2 ? "first" : "second");
  }).reload();
  await poll(() => attempts >= 61, "there were many attempts");
  expect(logger.lines.slice(0, 3).map(({ reason }) => reason)).toEqual(["first", "second", "second"]);
  expect(logger.lines.length).toBeLessThan(attempts / 10);
});

function watch(read: () => void): WatchedFiles {
  watched = watchFiles([path], { read, failure: FAILURE, logger: logger.pino }, INTERVAL_MS);
  return watched;
}
