import { beforeEach, describe, expect, it } from "vitest";
import { type Process, settle, told, World } from "./world.js";

const TEXT = [{ id: "", type: "text", text: "of the draft" }];

// StartDraft reserves an id in the record. Another process that does not know of it yet may still append a message with
// that id.
describe.each(["atomic", "weak"] as const)("a draft whose id another message has taken (%s)", (kind) => {
  let world: World;
  let writer: Process;
  /** The name of the draft's log. */
  let spare: string;

  beforeEach(async () => {
    world = new World(kind);
    writer = world.process({ draftTimeoutMs: 1000 });
    await writer.createSession({ sessionId: "a" });
    await writer.say("a", "m");
    const slow = world.process();
    slow.gates.close("append");
    slow.gates.close("insert");
    const taken = slow.say("a", "d");
    await settle();
    await writer.startDraft("a", { id: "d", role: "assistant", parts: [], metadata: { model: "x" } });
    await writer.extendDraft("a", "d", 1, [{ kind: "append_text", partId: "", text: "of the draft" }]);
    spare = world.record("a").drafts[0]?.log ?? "";
    await slow.gates.open("append", "insert");
    expect(await taken).toBe("at 1");
  });

  /** Ends the draft as abandoned. */
  const abandon = async (process = writer) => {
    await process.endAbandonedDrafts();
    world.nowMs += 1000;
    return process.endAbandonedDrafts();
  };

  it("stays open and listed, and cannot be finished by a call", async () => {
    expect(await told(writer.finishDraft("a", "d", { version: 2 }))).toBe("already_exists");
    expect(await world.process().listDrafts("a")).toMatchObject([{ message: { id: "d", parts: TEXT }, version: 2 }]);
    await world.process().deleteMessage("a", "m");
    expect(await world.process().listDrafts("a")).toMatchObject([{ message: { id: "d", parts: TEXT }, version: 2 }]);
  });

  it("is appended under the name of its log when it is abandoned, and records the id that it had", async () => {
    expect(await abandon()).toBe(1);
    const reader = world.process();
    expect(await reader.ids("a")).toBe(`m d ${spare}`);
    const metadata = { model: "x", interrupted: true, original_message_id: "d" };
    expect(await reader.getMessage("a", spare)).toMatchObject({ role: "assistant", parts: TEXT, metadata });
    expect(await reader.listDrafts("a")).toEqual([]);
  });

  it("is appended only once under that name when several processes end it and one of them dies half way", async () => {
    const dying = world.process({ draftTimeoutMs: 1000 });
    await dying.endAbandonedDrafts();
    world.nowMs += 1000;
    dying.gates.close("replaceRecord");
    void dying.endAbandonedDrafts();
    await settle();
    expect(await world.process().listDrafts("a")).toEqual([]);
    for (let i = 0; i < 2; i++) await world.process().endAbandonedDrafts();
    expect(await world.process().ids("a")).toBe(`m d ${spare}`);
  });

  it("is appended only once under that name when the history is edited before the record notes its end", async () => {
    const dying = world.process({ draftTimeoutMs: 1000 });
    await dying.endAbandonedDrafts();
    world.nowMs += 1000;
    dying.gates.close("replaceRecord");
    void dying.endAbandonedDrafts();
    await settle();
    await world.process().deleteMessage("a", spare);
    await world.process().endAbandonedDrafts();
    expect(await world.process().ids("a")).toBe("m d");
  });

  it("keeps its own id when the other message has been deleted meanwhile", async () => {
    await world.process().deleteMessage("a", "d");
    expect(await told(writer.finishDraft("a", "d", { version: 2 }))).toBe('{"messageIds":["d"],"position":1}');
    expect(await world.process().ids("a")).toBe("m d");
  });

  it("is appended once when the other message is deleted while it is being appended", async () => {
    const slow = world.process({ draftTimeoutMs: 1000 });
    await slow.endAbandonedDrafts();
    world.nowMs += 1000;
    const { log } = world.record("a");
    slow.gates.close("append", ([to]) => to === log);
    slow.gates.close("insert", ([to]) => to === log);
    const ended = told(slow.endAbandonedDrafts());
    await settle();
    await world.process().deleteMessage("a", "d");
    const other = world.process();
    other.gates.close("replaceRecord");
    void other.endAbandonedDrafts();
    await settle();
    await slow.gates.open("append", "insert");
    await ended;
    expect(await world.process().ids("a")).toBe("m d");
  });

  it("answers a repeated FinishDraft with the new id", async () => {
    await writer.createSession({ sessionId: "b" });
    const slow = world.process();
    await slow.say("b", "m");
    slow.gates.close("append");
    slow.gates.close("insert");
    const taken = slow.say("b", "d");
    await settle();
    await writer.startDraft("b", { id: "d", role: "assistant", parts: [] });
    writer.gates.close("append");
    writer.gates.close("insert");
    const finished = told(writer.finishDraft("b", "d", { version: 1 }));
    await settle();
    for (const { gates } of [slow, writer]) await gates.open("append", "insert");
    expect(await taken).toBe("at 1");
    const answer = JSON.stringify({ messageIds: [world.record("b").drafts[0]?.log], position: 2 });
    expect(await finished).toBe(answer);
    expect(await told(world.process().finishDraft("b", "d", { version: 1 }))).toBe(answer);
  });

  it("is reported to followers as a draft that stays open, and then as a message with the new id", async () => {
    const gone = new AbortController();
    const follower = world.process();
    const events = (await follower.followMessages("a", 1, { signal: gone.signal }))[Symbol.asyncIterator]();
    const kinds: string[] = [];
    const next = async () => {
      const { value } = await events.next();
      kinds.push(value.kind === "appended" ? `appended ${value.message.id}` : value.kind);
    };
    for (let i = 0; i < 2; i++) await next();
    await abandon();
    for (let i = 0; i < 2; i++) await next();
    gone.abort();
    expect(kinds.sort()).toEqual([`appended ${spare}`, "appended d", "draft", "draft_ended"].sort());
  });

  it("is erased under its new id, with the content of its deltas", async () => {
    await abandon();
    await world.process().eraseMessage("a", spare);
    const entries = world.db.logNames().flatMap((log) => world.db.rows(log).map(({ entry }) => entry));
    expect(entries.filter((entry) => JSON.stringify(entry?.body.parts ?? []).includes("of the draft"))).toEqual([]);
  });
});
