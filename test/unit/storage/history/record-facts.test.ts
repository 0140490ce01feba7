import { describe, expect, it } from "vitest";
import type { DraftRef, SessionRecord } from "../../../../src/storage/history/log-store.js";
import { namesLog, ownerOf } from "../../../../src/storage/history/record-facts.js";

const draft = (log: string, end?: DraftRef["end"]): DraftRef => ({
  ...{ log, messageId: log, timestampMicros: null, discardWhenAbandoned: false },
  ...(end && { end }),
});

const RECORD = {
  log: "u.1",
  namedLogs: [
    { log: "u.2", purpose: "older" },
    { log: "u.3", purpose: "copy" },
  ],
  drafts: [draft("u.4"), draft("u.5", "finished"), draft("u.6", "discarded")],
  deleted: false,
} as unknown as SessionRecord;

describe("a record lets entries into", () => {
  const logs = ["u.1", "u.2", "u.3", "u.4", "u.5", "u.6", "u.7"];
  const namedBy = (record: SessionRecord) => logs.filter((log) => namesLog(record, log));

  it.each([
    ["its open log, the other logs that it names, and those of open drafts", RECORD, ["u.1", "u.2", "u.3", "u.4"]],
    ["none of its logs once it is deleted", { ...RECORD, deleted: true }, []],
    ["the same logs while it is restored", { ...RECORD, deleted: true, restoring: true as const }, logs.slice(0, 4)],
  ])("%s", (_what, record, named) => {
    expect(namedBy(record)).toEqual(named);
  });
});

it("a log is owned by the session whose uid its name begins with", () => {
  expect(["uid.1", "uid.1.2", "uid"].map(ownerOf)).toEqual(["uid", "uid", "uid"]);
});
