import { describe, expect, it } from "vitest";
import { importTarget } from "../../../../support/importing.js";

const part = (id: string, type: string, more: object = {}) => ({ id, sessionID: "s", messageID: "m", type, ...more });
const text = (id: string, value: string) => part(id, "text", { text: value });
const message = (id: string, role: string, parts: readonly unknown[], info: object = {}) => ({
  info: { id, sessionID: "s", role, time: { created: 1_700_000_001_000 }, ...info },
  parts,
});
const session = (id: string, messages: readonly unknown[], info: object = {}) => ({
  info: { id, title: id, version: "1.1.0", time: { created: 1_700_000_000_000, updated: 1_700_000_005_000 }, ...info },
  messages,
});

describe("a session of OpenCode", () => {
  it("keeps its times", async () => {
    const target = importTarget();
    await target.importFile(session("s", [message("m1", "user", [text("p", "x")])]));
    expect((await target.sessions()).get("s")).toMatchObject({
      createTimeMicros: 1_700_000_000_000_000,
      updateTimeMicros: 1_700_000_005_000_000,
      metadata: { opencode: { version: "1.1.0" } },
    });
  });

  it.each([
    ["message", { messageID: "m2" }, ["user: keep"]],
    ["part", { messageID: "m2", partID: "p2" }, ["user: keep", "assistant: half"]],
    ["first part", { messageID: "m2", partID: "p1" }, ["user: keep"]],
    ["message that is missing", { messageID: "gone" }, ["user: keep", "assistant: half | undone", "user: more"]],
  ])("hides what was undone from a %s on, and an unrevert brings it back", async (_, revert, shown) => {
    const target = importTarget();
    const messages = [
      message("m1", "user", [text("p", "keep")]),
      message("m2", "assistant", [text("p1", "half"), text("p2", "undone")]),
      message("m3", "user", [text("p3", "more")]),
    ];
    await target.importFile(session("s", messages, { revert }));
    expect((await target.sessions()).get("s")?.texts).toEqual(shown);
    if (shown.length === 3) return;
    await target.use(({ sessions }) => sessions.unrevertSession("s"));
    expect((await target.sessions()).get("s")?.texts).toEqual(["user: keep", "assistant: half | undone", "user: more"]);
  });

  it("sees its ancestors, wherever they stand in the file", async () => {
    const chain = [0, 1, 2, 3].map((i) =>
      session(`s${i}`, [message(`m${i}`, "user", [text("p", `t${i}`)])], i === 0 ? {} : { parentID: `s${i - 1}` }),
    );
    for (const order of [chain, [...chain].reverse(), [chain[2], chain[0], chain[3], chain[1]]]) {
      const target = importTarget();
      await target.importFile(order);
      const messages = await target.use(({ sessions }) => sessions.getMessages("s3", { includeAncestors: true }));
      expect(messages.map(({ parts }) => parts[0]?.text)).toEqual(["t0", "t1", "t2", "t3"]);
    }
  });

  it("may name parents in a circle", async () => {
    const target = importTarget();
    const one = (id: string, parentID: string) => session(id, [message(id, "user", [text("p", id)])], { parentID });
    const report = await target.importFile([one("a", "b"), one("b", "c"), one("c", "a"), one("d", "d")]);
    expect(report).toMatchObject({ imported: 4, leftOut: 0 });
    expect(report.text).toContain("2 × parents that are descendants");
  });

  it.each([
    ["a null part", message("m1", "user", [null, text("p", "x")]), ["user: x"], 0],
    ["a part of another kind", message("m1", "user", [5, text("p", "x")]), ["user:  | x"], 0],
    ["no role", message("m1", "", [text("p", "x")]), ["unknown: x"], 0],
    ["no parts", { info: { id: "m1", role: "user" } }, ["user: "], 0],
    ["no info", { parts: [] }, [], 1],
    ["null", null, [], 1],
  ])("costs no other message when one has %s", async (_, odd, expected, leftOut) => {
    const target = importTarget();
    const report = await target.importFile([session("s", [odd, message("m2", "user", [text("p", "good")])])]);
    expect((await target.sessions()).get("s")?.texts).toEqual([...expected, "user: good"]);
    expect(report.leftOut).toBe(leftOut);
  });
});
