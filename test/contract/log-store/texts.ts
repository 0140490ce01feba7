import { beforeEach, describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/domain/json.js";
import { allComparable, canonical, created, entry, ODD_TEXTS, own, replaced, T0 } from "./fixtures.js";
import type { LogStoreSubject } from "./subject.js";

export function describeTexts(subject: LogStoreSubject): void {
  describe("texts, keys and numbers come back unchanged", () => {
    beforeEach(() => own(subject.store, "u.1"));

    const texts = [...ODD_TEXTS, ""];
    const struct: JsonObject = JSON.parse(
      `{${texts.map((text) => `${JSON.stringify(text)}:{${JSON.stringify(text)}:${JSON.stringify(text)}}`).join()}}`,
    );
    const numbers: JsonObject = {
      list: [0, 1, -1, 0.1, 1e300, 5e-324, 2 ** 31, 2 ** 53 - 1, -(2 ** 53), 1e21, true, false, null, [], {}, ""],
    };

    it("in ids of messages", async () => {
      const batch = ODD_TEXTS.map((id, i) => entry("u.1", i + 1, { id, remaining: ODD_TEXTS.length - i - 1 }));
      expect(await subject.store.append("u.1", 1, batch)).toBe(batch.length);
      const range = await subject.store.readRange("u.1", 1, batch.length);
      expect(allComparable(range.entries)).toEqual(allComparable(batch));
      for (const one of batch) {
        const found = await subject.store.findById(["u.1"], [one.id]);
        expect(allComparable(found)).toEqual(allComparable([one]));
        const again = entry("u.1", batch.length + 1, { id: one.id });
        expect(await subject.store.append("u.1", batch.length + 1, [again])).toBe("idTaken");
      }
      expect((await subject.store.tail("u.1")).last?.id).toBe(ODD_TEXTS.at(-1));
    });

    it("in all fields of a message", async () => {
      const batch = texts.map((text, i) =>
        entry("u.1", i + 1, {
          role: text,
          parts: [
            { id: text, type: text, text, data: struct },
            { id: "", type: text, text: `${text}${text}`, data: numbers },
          ],
          metadata: struct,
          sessionId: "s$.\u{1F600}",
          originSessionId: text === "" ? "s$.\u{1F600}" : text,
          remaining: texts.length - i - 1,
        }),
      );
      expect(await subject.store.append("u.1", 1, batch)).toBe(batch.length);
      const range = await subject.store.readRange("u.1", 1, batch.length);
      expect(allComparable(range.entries)).toEqual(allComparable(batch));
    });

    it("in a message without parts, and with parts that have nothing", async () => {
      const bare = entry("u.1", 1, { parts: [] });
      const empty = entry("u.1", 2, { parts: [{ id: "", type: "", text: "" }], metadata: {} });
      await subject.store.append("u.1", 1, [bare]);
      await subject.store.append("u.1", 2, [empty]);
      const range = await subject.store.readRange("u.1", 1, 2);
      expect(allComparable(range.entries)).toEqual(allComparable([bare, empty]));
    });

    it("in names of logs and owners", async () => {
      for (const text of ODD_TEXTS) {
        const log = `u${text.replaceAll(".", "")}.${text}`;
        await own(subject.store, log);
        expect(await subject.store.append(log, 1, [entry(log, 1, { sessionId: text })])).toBe(1);
        const range = await subject.store.readRange(log, 1, 2);
        expect(allComparable(range.entries)).toEqual(allComparable([entry(log, 1, { sessionId: text })]));
        expect(await subject.store.findById([log], ["m1"])).toMatchObject([{ log, sessionId: text }]);
      }
    });

    it("in records", async () => {
      for (const [i, text] of ODD_TEXTS.entries()) {
        const before = await created(subject.store, `u${i}`, { sessionId: text });
        const after = await replaced(subject.store, before, {
          parentId: text,
          forkPointId: text,
          title: text,
          metadata: struct,
          origin: { kind: "share", sourceSessionId: text, sourceUid: "u", upToMessageId: text },
          ancestry: [{ log: `u${i}.1`, first: 1, last: 1, sessionId: text }],
        });
        expect(canonical((await subject.store.readRecord(text)) as never)).toBe(canonical(after as never));
        expect(after).toMatchObject({ sessionId: text, parentId: text, title: text, forkPointId: text });
        expect(canonical(after.metadata)).toBe(canonical(struct));
        const children = await subject.store.listRecords({ parentId: text }, { limit: 10 });
        expect(children.map((one) => one.sessionId)).toEqual([text]);
      }
    });

    it("in timestamps", async () => {
      const micros = [0, 1, -1, T0, -T0, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER];
      for (const [i, timestampMicros] of micros.entries()) {
        await subject.store.append("u.1", i + 1, [entry("u.1", i + 1, { timestampMicros })]);
        expect((await subject.store.tail("u.1")).last?.timestampMicros).toBe(timestampMicros);
      }
      const range = await subject.store.readRange("u.1", 1, micros.length);
      expect(range.entries.map((one) => one.timestampMicros)).toEqual(micros);
    });
  });
}
