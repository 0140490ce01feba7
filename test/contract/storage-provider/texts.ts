import { describe, expect, it } from "vitest";
import { history, message, sessionWith } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

/** Ids that are easily mistaken for something else. */
const IDS = [
  "$set",
  "a.b",
  "__proto__",
  "constructor",
  "a/b",
  "a%2Fb",
  "ü",
  "u\u0308",
  "😀",
  "A",
  "a",
  "1",
  "01",
  " x ",
];

const TEXTS = [
  "",
  "\u0000",
  "a\u0000b",
  "\r\n\t",
  "😀\u{10ffff}\ufffd",
  "e\u0301 é",
  "'; DROP TABLE x; --",
  "\ufeffbom",
];

export function describeTexts(subject: StorageProviderSubject): void {
  describe("texts", () => {
    it("of ids are kept apart and come back unchanged", async () => {
      for (const sessionId of IDS) {
        await subject.provider.createSession({ sessionId, title: `title of ${sessionId}` });
        await subject.provider.logMessages(
          sessionId,
          IDS.map((id) => message(id, { role: `${sessionId} ${id}` })),
        );
      }
      for (const sessionId of IDS) {
        expect(await subject.other.getSession(sessionId)).toMatchObject({ sessionId, title: `title of ${sessionId}` });
        expect(await history(subject.other, sessionId)).toEqual(IDS);
        for (const id of IDS) {
          expect(await subject.other.getMessage(sessionId, id)).toMatchObject({ id, role: `${sessionId} ${id}` });
        }
      }
      const { sessions } = await subject.other.listSessions({ parentId: "", limit: 100 });
      expect(sessions.map(({ sessionId }) => sessionId).toSorted()).toEqual(IDS.toSorted());
    });

    it("of messages and Structs come back byte for byte", async () => {
      const struct = JSON.parse(
        JSON.stringify({ "": 1, "a.b": 2, $set: { $gt: 3 }, "\u0000": "\u0000", texts: TEXTS }).replace(
          "{",
          '{"__proto__":{"x":1},"constructor":null,',
        ),
      );
      const parts = TEXTS.map((text) => ({ id: text, type: `t${text}`, text, data: struct }));
      await subject.provider.createSession({ sessionId: "s", title: TEXTS.join(), metadata: struct });
      await subject.provider.logMessages("s", [message("m1", { role: TEXTS.join() || "r", parts, metadata: struct })]);
      const stored = await subject.other.getMessage("s", "m1");
      expect(JSON.stringify(stored?.parts)).toBe(JSON.stringify(parts));
      expect(JSON.stringify(stored?.metadata)).toBe(JSON.stringify(struct));
      expect(stored?.role).toBe(TEXTS.join());
      const session = await subject.other.getSession("s");
      expect([session.title, JSON.stringify(session.metadata)]).toEqual([TEXTS.join(), JSON.stringify(struct)]);
    });

    it("of numbers come back exactly", async () => {
      const numbers = [0, -1, 1.5, 1e300, 5e-324, 2 ** 53, -(2 ** 53), 2 ** 31, 0.1, 123456789012];
      await sessionWith(subject.provider, "s", [message("m1", { metadata: { numbers } })]);
      expect((await subject.other.getMessage("s", "m1"))?.metadata).toEqual({ numbers });
    });

    it("do not change when the caller changes its objects afterwards", async () => {
      const metadata = { a: [1] };
      const parts = [{ id: "", type: "text", text: "before" }];
      await sessionWith(subject.provider, "s", [message("m1", { parts, metadata })]);
      metadata.a.push(2);
      (parts[0] as { text: string }).text = "after";
      expect(await subject.provider.getMessage("s", "m1")).toMatchObject({
        parts: [{ text: "before" }],
        metadata: { a: [1] },
      });
    });
  });
}
