import { BSON, Int32, Long, ObjectId } from "mongodb";
import { describe, expect, it } from "vitest";
import { sealDocument, toDocument, toEntry } from "../../../../src/storage/mongodb/entry-document.js";
import { WriteIds } from "../../../../src/storage/mongodb/write-ids.js";
import { comparable, entry, ODD_TEXTS } from "../../../contract/log-store/fixtures.js";

describe("message documents", () => {
  it("hold names and ids that a caller chose only as string values", () => {
    for (const text of ODD_TEXTS) {
      const metadata = JSON.parse(`{${JSON.stringify(text)}:{"$set":1,"__proto__":2}}`);
      const given = entry("u.1", 1, { id: text, role: text, metadata, parts: [{ id: text, type: text, text }] });
      const document = toDocument(new ObjectId(), "u.1", 1, given);
      const names = ["_id", "session_id", "log", "seq", "id", "timestamp", "role", "body"];
      expect(Object.keys(document)).toEqual(names);
      expect(comparable(toEntry(BSON.deserialize(BSON.serialize(document)) as never))).toEqual(comparable(given));
    }
  });

  it("keep timestamps as one BSON type, whatever their size", () => {
    for (const timestampMicros of [0, -1, 5, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]) {
      const { timestamp } = toDocument(new ObjectId(), "u.1", 1, entry("u.1", 1, { timestampMicros }));
      expect(timestamp).toBeInstanceOf(Long);
      expect(Number(timestamp)).toBe(timestampMicros);
    }
  });

  it("keep places as one BSON type, and refuse numbers that do not fit it", () => {
    for (const seq of [1, 2, 1_000_000, 2 ** 31 - 1]) {
      for (const document of [
        toDocument(new ObjectId(), "u.1", seq, entry("u.1", seq)),
        sealDocument(new ObjectId(), "u.1", seq),
      ]) {
        const stored = BSON.deserialize(BSON.serialize(document), { promoteValues: false });
        expect(stored.seq).toEqual(new Int32(seq));
      }
    }
    for (const seq of [0, -0, -1, 1.5, 2 ** 31, Number.NaN]) {
      expect(() => toDocument(new ObjectId(), "u.1", seq, entry("u.1", 1))).toThrow("A log has no place");
      expect(() => sealDocument(new ObjectId(), "u.1", seq)).toThrow("A log has no place");
    }
  });

  it("leave out absent fields", () => {
    const plain = toDocument(new ObjectId(), "u.1", 1, entry("u.1", 1));
    expect(plain).not.toHaveProperty("origin");
    expect(plain).not.toHaveProperty("owed");
    const merged = toDocument(new ObjectId(), "u.1", 1, entry("u.1", 1, { originSessionId: "other", remaining: 2 }));
    expect(merged).toMatchObject({ origin: "other", owed: 2 });
  });
});

describe("seals", () => {
  it("have unique ids that no client can use", () => {
    const ids = Array.from({ length: 10 }, () => sealDocument(new ObjectId(), "u.1", 1).id);
    expect(ids.every((id) => id.startsWith("\u0000"))).toBe(true);
    expect(new Set(ids).size).toBe(10);
  });
});

describe("WriteIds", () => {
  it("recognises its own ids and no others", () => {
    const [one, two] = [new WriteIds(), new WriteIds()];
    expect(one.isOurs(one.next())).toBe(true);
    expect(one.isOurs(two.next())).toBe(false);
    expect(one.isOurs(new ObjectId())).toBe(false);
    expect(new Set(Array.from({ length: 1000 }, () => one.next().toHexString())).size).toBe(1000);
  });
});
