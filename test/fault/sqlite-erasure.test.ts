import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "libsql";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { NewChatMessage } from "../../src/domain/chat-message.js";
import { LogHistoryProvider } from "../../src/storage/history/log-history-provider.js";
import { SqliteLogDatabase } from "../../src/storage/sqlite/sqlite-log-database.js";
import { poll } from "../support/poll.js";

/**
 * Enough sessions and messages that pages are split and balanced many times, which leaves old texts in pages that are
 * in use.
 */
const SESSIONS = 12;
const MESSAGES = 50;

let folder: string;
let path: string;
let database: SqliteLogDatabase;
/** Another handle of the file, like that of another process. */
let other: SqliteLogDatabase;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "session-pool-erasure-"));
  path = join(folder, "pool.db");
  database = await SqliteLogDatabase.open(path);
  other = await SqliteLogDatabase.open(path);
});

afterEach(async () => {
  await database.close();
  await other.close();
  rmSync(folder, { recursive: true });
});

it("no file of the database contains erased texts, copied or not, and all other texts are kept", async () => {
  const provider = new LogHistoryProvider(database.namespace("default"));
  const reader = new LogHistoryProvider(other.namespace("default"));
  for (let s = 0; s < SESSIONS; s++) await provider.createSession({ sessionId: `s${s}` });
  // The sessions take turns, so that neighbouring rows are written at different times.
  for (let m = 0; m < MESSAGES; m++) {
    for (let s = 0; s < SESSIONS; s++) await provider.logMessages(`s${s}`, [messageOf(s, m)]);
  }
  await provider.createSession({ sessionId: "merged" });
  await provider.logMessages("merged", [{ id: "first", role: "user", parts: [], timestampMicros: 1 }]);
  for (let s = 0; s < SESSIONS; s++) {
    await provider.forkConversation(`s${s}`, `fork of s${s}`, { as: "fork" });
    await provider.forkConversation(`s${s}`, "merged", { as: "copy" });
  }
  await provider.truncateMessages("s0", messageId(0, 20));
  await provider.truncateMessages("s1", messageId(1, 20), { keepForUnrevert: true });
  await provider.deleteSession("s2");
  const all = Array.from({ length: SESSIONS * MESSAGES }, (_, i) => [i % SESSIONS, i % MESSAGES] as const);
  const pairs = new Map(all.map(([s, m]) => [messageId(s, m), secretOf(s, m)]));
  const erased = [...pairs.keys()].filter((_, i) => i % 20 === 3);

  expect(held([...pairs.values()])).toHaveLength(pairs.size);
  await Promise.all(erased.map((id) => provider.eraseMessage("merged", id)));
  expect(held(erased.map((id) => pairs.get(id) as string))).toEqual([]);
  const kept = [...pairs].filter(([id]) => !erased.includes(id)).map(([, secret]) => secret);
  expect(held(kept)).toHaveLength(kept.length);

  const [id = ""] = erased;
  expect(await reader.getMessage("merged", id)).toMatchObject({ parts: [{ type: "erased", text: "" }] });
  await reader.logMessages("merged", [{ role: "user", parts: [] }]);
  expect(await provider.getMessageCount("merged")).toBe(SESSIONS * MESSAGES + 2);
});

it("no file contains what the draft of an erased message held", async () => {
  const provider = new LogHistoryProvider(database.namespace("default"));
  await provider.createSession({ sessionId: "s" });
  await provider.startDraft("s", { id: "d", role: "assistant", parts: [textPart("started with hunter1")] });
  await provider.extendDraft("s", "d", 1, [{ kind: "append_text", partId: "p", text: " and hunter2" }]);
  const deltas = [{ kind: "append_text", partId: "p", text: " and hunter3" } as const];
  await provider.finishDraft("s", "d", { version: 2, deltas, metadata: { by: "hunter4" } });
  const secrets = ["hunter1", "hunter2", "hunter3", "hunter4"];
  expect(held(secrets)).toEqual(secrets);
  expect(await new LogHistoryProvider(other.namespace("default")).eraseMessage("s", "d")).toEqual({ copies: 1 });
  expect(held(secrets)).toEqual([]);
  expect(await provider.getMessage("s", "d")).toMatchObject({ role: "assistant", parts: [{ type: "erased" }] });
  const { revision } = await provider.getSession("s");
  await provider.eraseMessage("s", "d");
  expect(await provider.getSession("s")).toMatchObject({ revision });
});

it("no file contains the bytes or the name of an erased attachment, and all others are kept", async () => {
  const provider = new LogHistoryProvider(database.namespace("default"));
  for (const sessionId of ["s", "copy"]) await provider.createSession({ sessionId });
  const ids = Array.from({ length: 15 }, (_, i) => `a${i}`);
  // Uploads at the same time mix their pieces in the file.
  await Promise.all(ids.map((id, i) => upload(provider, id, contentOf(id, (i % 4) * 300_000 + 50))));
  for (const [i, id] of ids.entries()) await provider.logMessages("s", [showing(`m${i}`, id)]);
  await provider.logMessages("s", [showing("m99", "a3")]);
  await provider.forkConversation("s", "fork", { as: "fork" });
  await provider.forkConversation("s", "copy", { as: "copy", upToMessageId: "m9" });
  const marks = (id: string) =>
    [markOf(id, 0), markOf(id, 1_000), `${id}.secret.pdf`].filter((_, i) => i !== 1 || isLong(id));
  const isLong = (id: string) => Number(id.slice(1)) % 4 > 0;
  expect(held(ids.flatMap(marks))).toEqual(ids.flatMap(marks));
  const erased = ids.filter((_, i) => i % 5 === 2);
  for (const id of erased) await provider.eraseMessage("fork", `m${id.slice(1)}`);
  // Another message names this one.
  await provider.eraseMessage("s", "m3");
  expect(held(erased.flatMap(marks))).toEqual([]);
  const kept = ids.filter((id) => !erased.includes(id));
  expect(held(kept.flatMap(marks))).toEqual(kept.flatMap(marks));
  const reader = new LogHistoryProvider(other.namespace("default"));
  for (const id of kept) {
    const { pieces } = await reader.getAttachment("fork", id, {});
    const read: Uint8Array[] = [];
    for await (const piece of pieces) read.push(piece);
    expect(Buffer.concat(read).equals(contentOf(id, (Number(id.slice(1)) % 4) * 300_000 + 50))).toBe(true);
  }
});

it("no file contains what an interrupted upload of an erased attachment has left", async () => {
  const store = database.namespace("default");
  const provider = new LogHistoryProvider(store);
  await provider.createSession({ sessionId: "s" });
  const [bytes, others] = [contentOf("a", 1000), contentOf("b", 1000)];
  async function* cut(content: Buffer): AsyncGenerator<Buffer> {
    yield Buffer.concat([content, Buffer.alloc(300_000)]);
    // A process that dies takes nothing back.
    await new Promise(() => {});
  }
  const calls = [new AbortController(), new AbortController()] as const;
  for (const [i, [attachmentId, content]] of [["a", bytes] as const, ["b", others] as const].entries()) {
    const call = { signal: calls[i]?.signal };
    provider.uploadAttachment("s", { attachmentId }, cut(content), call).catch(() => {});
  }
  const marks = [markOf("a", 0), markOf("b", 0)];
  await poll(() => held(marks).length === 2, "the first pieces are stored");
  await upload(provider, "a", bytes);
  await provider.logMessages("s", [showing("m", "a")]);
  await provider.eraseMessage("s", "m");
  expect(held(marks)).toEqual([markOf("b", 0)]);
  for (const call of calls) call.abort();
});

/** Text that says at each place what it is of. */
function contentOf(id: string, bytes: number): Buffer {
  return Buffer.from(Array.from({ length: Math.ceil(bytes / 30) + 1 }, (_, i) => markOf(id, i)).join("")).subarray(
    0,
    bytes,
  );
}

function markOf(id: string, place: number): string {
  return `<content of ${id} at ${place}>`;
}

async function upload(provider: LogHistoryProvider, attachmentId: string, bytes: Buffer): Promise<void> {
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += 70_000) yield bytes.subarray(at, at + 70_000);
  }
  await provider.uploadAttachment("s", { attachmentId, name: `${attachmentId}.secret.pdf` }, chunks());
}

function showing(id: string, attachmentId: string): NewChatMessage {
  const attachment = { attachmentId, mediaType: "", name: "", size: 0, sha256: "" };
  return { id, role: "user", parts: [{ id: "", type: "file", text: "", attachment }] };
}

it("an index of words contains no word of an erased message", async () => {
  const searching = await SqliteLogDatabase.open(path, { search: "all" });
  try {
    const provider = new LogHistoryProvider(searching.namespace("default"), { search: "all" });
    await provider.createSession({ sessionId: "s" });
    // The messages are stored and indexed one by one, so that the index consists of many pieces.
    for (let m = 0; m < 30; m++) {
      const text = `${wordOf(m)} ${"x".repeat(m)}`;
      const part = m % 2 === 0 ? textPart(text) : { id: "p", type: "tool_result", text: "", data: { content: text } };
      await provider.logMessages("s", [{ id: `m${m}`, role: "user", parts: [part] }]);
      await searching.searchBuilt();
    }
    expect(indexed()).toHaveLength(30);
    for (const m of [6, 7]) await provider.eraseMessage("s", `m${m}`);
    expect(indexed()).toEqual(Array.from({ length: 30 }, (_, m) => wordOf(m)).filter((_, m) => m !== 6 && m !== 7));
    expect(held([wordOf(6), wordOf(7)])).toEqual([]);
  } finally {
    await searching.close();
  }
});

/**
 * Makes a word with a first letter of its own, because the index stores only the part in which a word differs from the
 * one before.
 */
function wordOf(m: number): string {
  return `${String.fromCodePoint(0x561 + m)}secretword`;
}

/** Returns the secret words that the index contains. */
function indexed(): string[] {
  const db = new Database(path);
  db.exec("CREATE VIRTUAL TABLE temp.words USING fts5vocab (main, search_texts, row)");
  const rows = db.prepare("SELECT term FROM temp.words WHERE term LIKE '%secretword' ORDER BY term").raw().all([]);
  db.close();
  return (rows as [string][]).map(([term]) => term);
}

it("an erasure that stopped half way is completed by the next one", async () => {
  const provider = new LogHistoryProvider(database.namespace("default"));
  await provider.createSession({ sessionId: "s" });
  await provider.logMessages("s", [messageOf(0, 0)]);
  const stopping = new AbortController();
  const onProgress = () => stopping.abort();
  const stopped = provider.eraseMessage("s", messageId(0, 0), { signal: stopping.signal, onProgress });
  await expect(stopped).rejects.toMatchObject({ code: "canceled" });
  expect(held([secretOf(0, 0)])).toHaveLength(1);
  await new LogHistoryProvider(other.namespace("default")).eraseMessage("s", messageId(0, 0));
  expect(held([secretOf(0, 0)])).toEqual([]);
});

it("no file contains the name of an owner who was erased", async () => {
  const provider = new LogHistoryProvider(database.namespace("default"));
  for (let s = 0; s < SESSIONS; s++) {
    await provider.createSession({ sessionId: `s${s}`, owner: s % 2 === 0 ? "owner-ada" : "owner-bob" });
    await provider.logMessages(`s${s}`, [messageOf(s, 0)]);
  }
  await provider.deleteSession("s0");
  expect(held(["owner-ada", "owner-bob"])).toEqual(["owner-ada", "owner-bob"]);
  await provider.eraseOwner("owner-ada");
  expect(held(["owner-ada", "owner-bob"])).toEqual(["owner-bob"]);
});

function textPart(text: string) {
  return { id: "p", type: "text", text };
}

function messageId(s: number, m: number): string {
  return `m${m} of s${s}`;
}

function messageOf(s: number, m: number): NewChatMessage {
  const text = `${secretOf(s, m)} ${"x".repeat((m * 37 + s * 211) % 3000)}`;
  return { id: messageId(s, m), role: "user", parts: [{ id: "", type: "text", text }], metadata: { secretOf: s } };
}

function secretOf(s: number, m: number): string {
  return `secret ${m} of session ${s};`;
}

/** Returns those of these texts that any file of the database contains. */
function held(texts: readonly string[]): string[] {
  const files = readdirSync(folder).map((name) => readFileSync(join(folder, name)));
  return texts.filter((text) => files.some((bytes) => bytes.includes(text)));
}
