import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  entryValues,
  RECORD_FIELDS,
  recordValues,
  splitLog,
  toEntry,
  toRecord,
} from "../../../../src/storage/postgres/rows.js";
import { fromColumn } from "../../../../src/storage/text-column.js";
import { comparable, entry, ODD_TEXTS, record } from "../../../contract/log-store/fixtures.js";

const text = fc.oneof(fc.constantFrom(...ODD_TEXTS), fc.string({ unit: "binary" }));
const uid = fc.stringMatching(/^[a-z0-9-]+$/);
const log = fc.tuple(uid, fc.nat(), text).map(([owner, number, rest]) => `${owner}.${number}${rest}`);
const segment = fc.record({ log, first: fc.nat(), last: fc.nat() });

/** What the server returns for the values that it was given. */
function stored(id: string, values: ReturnType<typeof recordValues>, forks: number) {
  const column = (name: (typeof RECORD_FIELDS)[number]) => values[RECORD_FIELDS.indexOf(name)] as never;
  return [id, column("update_time"), column("revision"), forks, column("segments"), column("body")];
}

describe("the row of a record", () => {
  it("gives the record back, and has no U+0000", () => {
    const parts = {
      uid,
      sessionId: text,
      title: text,
      segments: fc.array(segment),
      forks: fc.nat(),
      deleted: fc.boolean(),
    };
    fc.assert(
      fc.property(fc.record(parts), ({ uid: owner, forks, ...more }) => {
        const given = record(owner, { ...more, metadata: { [more.title]: more.title } });
        const values = recordValues(given, 7);
        expect(values.flat().some((value) => typeof value === "string" && value.includes("\u0000"))).toBe(false);
        expect(toRecord(stored(owner, values, forks))).toEqual({ ...given, forks });
      }),
    );
  });

  it("names the logs that let entries in, and labels, only while the record lives", () => {
    const named = { namedLogs: [{ log: "u.2", purpose: "older" }], labels: { kind: "x" } } as const;
    const columns = (more: object) => {
      const values = recordValues(record("u", { ...named, ...more }), 7);
      return [values[RECORD_FIELDS.indexOf("logs")], values[RECORD_FIELDS.indexOf("labels")]];
    };
    expect(columns({})).toEqual([["u.1", "u.2"], ["kind=x"]]);
    expect(columns({ deleted: true })).toEqual([[], []]);
    expect(columns({ deleted: true, restoring: true })).toEqual([["u.1", "u.2"], []]);
  });
});

describe("the row of an entry", () => {
  it("gives the entry back, and has no U+0000", () => {
    const parts = { log, id: text, role: text, sessionId: text, originSessionId: text };
    fc.assert(
      fc.property(fc.record(parts), text, ({ log: name, ...more }, content) => {
        const given = entry(name, 3, { ...more, parts: [{ id: content, type: "text", text: content }] });
        const [id, time, , role, session, origin, body] = entryValues(given, null);
        const row = [...splitLog(name), 3, id, time, role, session, origin, body];
        expect(row.some((value) => typeof value === "string" && value.includes("\u0000"))).toBe(false);
        expect(comparable(toEntry(row as never))).toBe(comparable(given));
      }),
    );
  });
});

describe("splitLog", () => {
  it("splits a name at its first dot, and both parts together are the name", () => {
    expect(splitLog("u.1.2")).toEqual(["u", ".1.2"]);
    expect(splitLog("u")).toEqual(["u", ""]);
    fc.assert(
      fc.property(log, (name) => {
        expect(splitLog(name).map(fromColumn).join("")).toBe(name);
      }),
    );
  });
});
