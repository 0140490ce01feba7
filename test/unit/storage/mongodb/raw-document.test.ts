import { BSON, ObjectId } from "mongodb";
import { describe, expect, it } from "vitest";
import { MessageBody } from "../../../../src/domain/message-body.js";
import type { Entry } from "../../../../src/storage/history/log-store.js";
import {
  type MessageDocument,
  sealDocument,
  toDocument,
  toEntry,
} from "../../../../src/storage/mongodb/entry-document.js";
import { readRawDocument } from "../../../../src/storage/mongodb/raw-document.js";

const parts = [{ id: "", type: "text", text: 'Übung "1"\n\u0000 – 🌸 und \ud83c' }];

const entry: Entry = {
  log: "uid.1",
  seq: 7,
  id: "müßig-🌸",
  timestampMicros: 1_750_000_000_123_456,
  role: "user",
  body: MessageBody.of({ parts, metadata: { ключ: [1.5, null, "é"] } }),
  sessionId: "sitzung-é",
  originSessionId: "sitzung-é",
  remaining: 0,
};

const entries: [string, Entry][] = [
  ["a message with text of many alphabets", entry],
  [
    "a message of another session, before 1970, without metadata",
    {
      ...entry,
      originSessionId: "other",
      timestampMicros: -1,
      body: MessageBody.of({ parts }),
    },
  ],
  [
    "a message of an unfinished batch, with the largest timestamp",
    { ...entry, remaining: 3, timestampMicros: Number.MAX_SAFE_INTEGER },
  ],
];

describe("readRawDocument", () => {
  it.each(entries)("reads %s as the driver does", (_, given) => {
    const bytes = BSON.serialize(toDocument(new ObjectId(), given.log, given.seq, given));
    const raw = readRawDocument(bytes);
    const decoded = toEntry(BSON.deserialize(bytes, { promoteLongs: false }) as MessageDocument);
    expect(plain(raw.entry)).toEqual(plain(decoded));
    expect(raw.seq).toBe(given.seq);
    expect(raw.entry?.body.parts).toEqual(parts);
  });

  it("reads numbers of every type, and skips unknown fields", () => {
    const { timestamp: _, ...document } = toDocument(new ObjectId(), entry.log, entry.seq, entry);
    const words = ["übung", "1"];
    const bytes = BSON.serialize({ words, ...document, timestamp: new BSON.Double(5), more: { seq: 9 } });
    expect(readRawDocument(bytes)).toMatchObject({ seq: 7, entry: { timestampMicros: 5, id: entry.id } });
  });

  it("recognises a seal, and reads its place", () => {
    const bytes = BSON.serialize(sealDocument(new ObjectId(), "uid.1", 8));
    expect(readRawDocument(bytes)).toEqual({ seq: 8, entry: null });
  });

  it("reads a document that lies inside a larger buffer", () => {
    const bytes = BSON.serialize(toDocument(new ObjectId(), entry.log, entry.seq, entry));
    const around = Buffer.concat([Buffer.alloc(13, 0xff), bytes, Buffer.alloc(5, 0xff)]);
    const raw = readRawDocument(around.subarray(13, 13 + bytes.length));
    expect(plain(raw.entry)).toEqual(plain(entry));
  });
});

function plain(one: Entry | null) {
  return one && { ...one, body: { parts: one.body.parts, metadata: one.body.metadata } };
}
