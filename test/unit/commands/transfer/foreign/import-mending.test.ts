import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { strToU8, zipSync } from "fflate";
import { describe, expect, it } from "vitest";
import { DEFAULT_LIMITS } from "../../../../../src/domain/limits.js";
import { messageSize } from "../../../../../src/domain/message-size.js";
import { line, said } from "../../../../support/chatgpt-export.js";
import { importTarget } from "../../../../support/importing.js";

/** Limits that small files exceed. */
const SMALL = { ...DEFAULT_LIMITS, messageBytes: 100_000, parts: 10 };
const good = line("good", [said("g", "user", "fine")]);
const HALF = "half \ud83d";

/** Imports one odd session of OpenCode, whose fields may be anything, between two good ones. */
async function importOdd(info: object, messages: readonly unknown[], limits = DEFAULT_LIMITS) {
  const target = importTarget();
  const other = (id: string) => ({ info: { id, time: { updated: 1 } }, messages: [message("m", [text("fine")])] });
  const file = [other("first"), { info: { id: "odd", ...info }, messages }, other("last")];
  const report = await target.importFile(file, { limits });
  const sessions = await target.sessions();
  expect([...sessions.keys()]).toEqual(expect.arrayContaining(["first", "last"]));
  const again = await target.importFile(file, { limits });
  expect(again).toMatchObject({ imported: 0, grown: 0 });
  const strict = target.importFile(file, { limits, strict: true });
  if (report.text.includes("\n  ")) await expect(strict).rejects.toThrow(/: .*; nothing was stored$/);
  else await strict;
  return { report, sessions, session: sessions.get("odd") };
}

const text = (value: string) => ({ type: "text", text: value });
const message = (id: string, parts: readonly unknown[], info: object = {}) => ({
  info: { id, role: "user", ...info },
  parts,
});

describe("an import mends, and says where,", () => {
  it("half characters in every text", async () => {
    const { session, sessions, report } = await importOdd({ title: HALF, extra: { [HALF]: [HALF] } }, [
      message(HALF, [{ ...text(HALF), id: HALF, data: { [HALF]: HALF } }], { role: HALF, more: HALF }),
    ]);
    const fixed = "half \ufffd";
    expect(session).toMatchObject({ title: fixed, metadata: { opencode: { extra: { [fixed]: [fixed] } } } });
    const part = { type: "text", id: fixed, text: fixed, data: { data: { [fixed]: fixed } } };
    expect(session?.messages).toMatchObject([{ id: fixed, role: fixed, parts: [part] }]);
    expect(sessions.size).toBe(3);
    expect(report).toMatchObject({ leftOut: 0 });
    expect(report.text).toContain("texts with half characters");
  });

  it("ids that occur twice, are too long or hold control characters", async () => {
    const ids = ["m", "m", "x".repeat(500), "a\nb", "..", ""];
    const { session, report } = await importOdd(
      {},
      ids.map((id) => message(id, [text("t")])),
    );
    const found = session?.messages.map(({ id }) => id) ?? [];
    expect(found).toHaveLength(ids.length);
    expect(found.slice(0, 2)).toEqual(["m", "m~2"]);
    expect(found[2]).toMatch(/^x{100,111}~[0-9a-f]{16}$/);
    expect(found.slice(3)).toEqual(["a\ufffdb", "~..", "message-6"]);
    expect(report.text).toContain('session "odd", message "m~2"');
  });

  it("sessions that occur twice", async () => {
    const target = importTarget();
    const report = await target.importFile([good, good, good]);
    expect([...(await target.sessions()).keys()].sort()).toEqual(["good", "good~2", "good~3"]);
    expect(report.text).toContain("2 × ids that occur twice");
  });

  it("titles that are too long, which metadata keeps", async () => {
    const title = "ü".repeat(1000);
    const { session } = await importOdd({ title }, []);
    expect(session?.title).toBe(`${"ü".repeat(510)}…`);
    expect(session?.metadata).toMatchObject({ title });
  });

  it("messages that are too large, whose longest texts it cuts", async () => {
    const long = "y".repeat(SMALL.messageBytes + 10);
    const parts = [text("short"), text(long), { type: "x", url: long }];
    const { session, report } = await importOdd({}, [message("m", parts)], SMALL);
    const [stored] = session?.messages ?? [];
    const [short, cut, data] = stored?.parts ?? [];
    expect(short).toMatchObject({ text: "short" });
    expect(long.startsWith(cut?.text ?? "-")).toBe(true);
    expect(cut).toMatchObject({ data: { truncated: long.length } });
    expect(data).toMatchObject({ data: { truncated: long.length, url: expect.stringMatching(/^y{25000}/) } });
    expect(report).toMatchObject({ leftOut: 0 });
  });

  it("messages that are too large because of something else than texts", async () => {
    const numbers = Array.from({ length: 50_000 }, (_, i) => i);
    const { session } = await importOdd({}, [message("m", [{ type: "x", numbers }, text("kept")])], SMALL);
    const [stored] = session?.messages ?? [];
    expect(messageSize(stored as never)).toBeLessThanOrEqual(SMALL.messageBytes);
    expect(stored?.parts[0]).toMatchObject({ data: { json: expect.stringMatching(/^\{"numbers":\[0,1,2/) } });
    expect(stored?.parts[1]).toMatchObject({ text: "kept" });
  });

  it("fields of info that are too large for metadata, which become a part", async () => {
    const diffs = [{ file: "a", before: "z".repeat(90_000) }];
    const { session, report } = await importOdd({ summary: { diffs }, version: "1" }, [
      message("m", [text("t")], { summary: { diffs }, mode: "build" }),
    ]);
    expect(session?.metadata).toMatchObject({ opencode: { version: "1" } });
    expect(session?.messages[0]).toMatchObject({
      metadata: { opencode: { mode: "build" } },
      parts: [
        { type: "text", text: "t" },
        { type: "session-metadata", data: { opencode: { summary: { diffs } } } },
        { type: "metadata", data: { opencode: { summary: { diffs } } } },
      ],
    });
    expect(report).toMatchObject({ leftOut: 0 });
  });

  it("messages with too many parts, which are several messages then", async () => {
    const parts = Array.from({ length: SMALL.parts * 2 + 1 }, (_, i) => text(`${i}`));
    const { session } = await importOdd({}, [message("m", parts), message("n", [text("after")])], SMALL);
    expect(session?.messages.map(({ id, parts: own }) => [id, own.length])).toEqual([
      ["m", SMALL.parts],
      ["m~2", SMALL.parts],
      ["m~3", 1],
      ["n", 1],
    ]);
  });

  it.each([23, 24, 100, 20_000])("data that is nested %i levels deep", async (levels) => {
    const target = importTarget();
    const nested = `${'{"a":'.repeat(levels)}{"end":1}${"}".repeat(levels)}`;
    const file = `{"info":{"id":"odd"},"messages":[{"info":{"id":"m","role":"user"},"parts":[{"type":"x","d":${nested}}]}]}`;
    expect(await target.importFile(file)).toMatchObject({ imported: 1, leftOut: 0 });
    const [found] = (await target.sessions()).get("odd")?.messages ?? [];
    expect(found?.parts).toHaveLength(1);
  });

  it("times that cannot be", async () => {
    const times = [5, 1e300, -1e300, 4e12, 1_700_000_000_000];
    const { session, report } = await importOdd(
      { time: { created: 1e300 } },
      times.map((created, i) => message(`m${i}`, [text("t")], { time: { created } })),
    );
    expect(session?.messages.map(({ timestampMicros }) => timestampMicros)).toEqual([5000, 5000, 5000, 5000, 1.7e15]);
    expect(session).toMatchObject({ createTimeMicros: 5000, updateTimeMicros: 1.7e15 });
    expect(report.text).toContain("times that cannot be");
  });

  it("integers that no double holds", async () => {
    const target = importTarget();
    const file = '{"info":{"id":"s","big":9007199254740993},"messages":[]}';
    await target.importFile(file);
    expect((await target.sessions()).get("s")?.metadata).toEqual({ opencode: { big: "9007199254740993" } });
  });
});

describe("an import", () => {
  it("keeps to the limits that it is given", async () => {
    const target = importTarget();
    const long = "y".repeat(4000);
    const limits = { ...DEFAULT_LIMITS, titleBytes: 5000, messageBytes: 2000, idBytes: 64 };
    await target.importFile([line("s", [said("m".repeat(80), "user", long)], { title: long })], { limits });
    const session = (await target.sessions()).get("s");
    expect(session?.title).toBe(long);
    expect(session?.messages[0]?.id).toHaveLength(64);
    expect(session?.messages[0]?.parts[0]).toMatchObject({ text: "y".repeat(1000), data: { truncated: 4000 } });
  });

  it("goes on after an entry that is not JSON, and one that is cut off", async () => {
    const target = importTarget();
    const report = await target.importFile(`[{"mapping":oops},${JSON.stringify(good)},{"mapping":{`);
    expect([...(await target.sessions()).keys()]).toEqual(["good"]);
    expect(report.leftOut).toBe(2);
    expect(report.text).toContain("file.json, entry 3: the file ends within it");
  });

  it("of an empty list says so", async () => {
    const report = await importTarget().importFile("[]");
    expect(report).toMatchObject({ imported: 0, leftOut: 0 });
    expect(report.text).toBe("Imported 0 sessions, because the file holds none\n");
  });

  it("reads an archive as it was downloaded, with conversations in several files and named attachments", async () => {
    const target = importTarget();
    const pointer = { content_type: "image_asset_pointer", asset_pointer: "file-service://file-abc" };
    const picture = { content_type: "multimodal_text", parts: [pointer] };
    const archive = zipSync({
      "export/conversations-000.json": strToU8(JSON.stringify([good])),
      "export/conversations-001.json": strToU8(JSON.stringify([line("more", [said("p", "user", picture)])])),
      "export/user.json": strToU8('{"id":"user-1","email":"a@example.com"}'),
      "export/chat.html": strToU8("<html></html>"),
      "export/file-abc-holiday.png": new Uint8Array(10),
    });
    const report = await target.importFile(Buffer.from(archive), { name: "export.zip" });
    expect(report).toMatchObject({ imported: 2, leftOut: 0 });
    const [found] = (await target.sessions()).get("more")?.messages ?? [];
    expect(found?.parts).toMatchObject([{ type: "file", data: { filename: "file-abc-holiday.png" } }]);
  });

  it("refuses an archive without anything to import, and names a file of it", async () => {
    const archive = Buffer.from(zipSync({ "user.json": strToU8('{"id":1}') }));
    await expect(importTarget().importFile(archive)).rejects.toThrow(
      /user.json: the file is JSON, but not an export of/,
    );
    await expect(importTarget().importFile(Buffer.from(zipSync({ "a.png": new Uint8Array(1) })))).rejects.toThrow(
      /there is no JSON in it$/,
    );
  });

  it("keeps what comes before the place where a packed file is cut off, and refuses one that is broken", async () => {
    const target = importTarget();
    const packed = gzipSync(JSON.stringify([good, line("more", [said("m", "user", "x".repeat(9))])]), { level: 0 });
    const report = await target.importFile(packed.subarray(0, packed.length - 60));
    expect([...(await target.sessions()).keys()]).toEqual(["good"]);
    expect(report.text).toContain("file.json, entry 2: the file ends within it");
    expect(report.leftOut).toBe(1);
    const broken = Buffer.from(packed);
    broken.fill(0xff, 10, 20);
    await expect(target.importFile(broken)).rejects.toThrow(/file.json: /);
  });

  it("reads a folder, a file packed with gzip, and UTF-16", async () => {
    const target = importTarget();
    mkdirSync(target.pathOf("folder/inner"), { recursive: true });
    writeFileSync(target.pathOf("folder/inner/a.json"), JSON.stringify([good]));
    writeFileSync(target.pathOf("folder/notes.txt"), "nothing");
    expect(await target.importPath(target.pathOf("folder"))).toMatchObject({ imported: 1 });
    const packed = gzipSync(JSON.stringify([line("packed", [said("m", "user", "x")])]));
    expect(await target.importFile(packed)).toMatchObject({ imported: 1 });
    const wide = Buffer.from(`\ufeff${JSON.stringify([line("wide", [said("m", "user", "ü")])], null, 2)}`, "utf16le");
    expect(await target.importFile(wide)).toMatchObject({ imported: 1 });
    expect((await target.sessions()).get("wide")?.texts).toEqual(["user: ü"]);
  });
});

it("a file of a folder that is cut off in its only conversation is left out, not passed over", async () => {
  const target = importTarget();
  const folder = target.pathOf("export");
  mkdirSync(folder);
  const content = JSON.stringify([line("good", [said("u", "user", "hi")])]);
  writeFileSync(join(folder, "a.json"), content);
  writeFileSync(join(folder, "b.json"), content.slice(0, -20));
  writeFileSync(join(folder, "settings.json"), "{}");
  const report = await target.importPath(folder);
  expect(report).toMatchObject({ imported: 1, leftOut: 1 });
  expect(report.text).toContain("b.json, entry 1: the file ends within it");
});
