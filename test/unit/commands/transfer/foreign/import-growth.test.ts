import { expect, it, vi } from "vitest";
import { StorageManager } from "../../../../../src/storage/storage-manager.js";
import { said, tree } from "../../../../support/chatgpt-export.js";
import { importTarget } from "../../../../support/importing.js";

type Nodes = Parameters<typeof tree>[1];

const ROOT: Nodes = [
  ["root", null],
  ["u1", "root", said("u1", "user", "u1")],
];
const A: Nodes = [["a", "u1", said("a", "assistant", "a")]];
const B: Nodes = [["b", "u1", said("b", "assistant", "b")]];
const C: Nodes = [["c", "b", said("c", "user", "c")]];
const D: Nodes = [["d", "b", said("d", "user", "d")]];

/** Imports one state of a conversation after another; returns the texts of all sessions. */
async function grow(...states: readonly Nodes[]) {
  const target = importTarget();
  const reports = [];
  for (const nodes of states) reports.push(await target.importFile([tree("s", nodes)]));
  const sessions = await target.sessions();
  const texts = [...sessions].map(([id, one]) => [id, one.messages.map(({ parts }) => parts[0]?.text).join("")]);
  return { texts: Object.fromEntries(texts), sessions, reports };
}

it("an import of the same file adds nothing", async () => {
  const state = [...ROOT, ...A, ...B, ...C];
  const { texts, reports } = await grow(state, state);
  expect(texts).toEqual({ s: "u1bc", "s~a": "u1a" });
  expect(reports[1]).toMatchObject({ imported: 0, existing: 2, grown: 0, leftOut: 0 });
});

it("messages that are new in the file are appended", async () => {
  const { texts, reports } = await grow(ROOT, [...ROOT, ...B], [...ROOT, ...B, ...C]);
  expect(texts).toEqual({ s: "u1bc" });
  expect(reports[2]).toMatchObject({ imported: 0, existing: 1, grown: 1 });
});

it("a branch that became the current one is a new fork, and the session goes on as it began", async () => {
  const { texts, sessions } = await grow([...ROOT, ...A], [...ROOT, ...A, ...B], [...ROOT, ...A, ...B, ...C]);
  expect(texts).toEqual({ s: "u1a", "s~b": "u1bc" });
  expect(sessions.get("s~b")).toMatchObject({ parentId: "s", forkPointId: "u1", inheritedCount: 1 });
});

it("branches of branches are found again, whichever is the current one", async () => {
  const all = [...ROOT, ...A, ...B, ...C, ...D];
  const others = [...ROOT, ...B, ...C, ...D, ...A];
  const { texts, reports } = await grow(all, others, all);
  expect(texts).toEqual({ s: "u1bd", "s~a": "u1a", "s~c": "u1bc" });
  for (const report of reports.slice(1)) expect(report).toMatchObject({ imported: 0, existing: 3, grown: 0 });
});

it("messages that many branches share are read once", async () => {
  const count = 60;
  const chain: Nodes = Array.from({ length: count }, (_, i) => {
    const id = `m${i}`;
    return [id, i === 0 ? "root" : `m${i - 1}`, said(id, "user", id)] as const;
  });
  const others: Nodes = chain.map(([id]) => [`${id}x`, id, said(`${id}x`, "assistant", id)] as const);
  const file = [tree("s", [["root", null], ...others, ...chain])];
  const target = importTarget();
  await target.importFile(file);
  const read = vi.spyOn(StorageManager.prototype, "readStored");
  try {
    expect(await target.importFile(file)).toMatchObject({ imported: 0, existing: count, grown: 0 });
    const pages = await Promise.all(read.mock.results.map(({ value }) => value as Promise<readonly unknown[]>));
    // Once to find the branches, and once to compare what they share.
    const messages = pages.reduce((sum, page) => sum + page.length, 0);
    expect(messages).toBeGreaterThanOrEqual(2 * count - 1);
    expect(messages).toBeLessThan(6 * count);
  } finally {
    read.mockRestore();
  }
});

it("a session that was continued here stays, and what the file adds is a fork", async () => {
  const target = importTarget();
  await target.importFile([tree("s", [...ROOT, ...B])]);
  await target.use(({ sessions }) =>
    sessions.appendMessage("s", { id: "own", role: "user", parts: [{ id: "", type: "text", text: "own" }] }),
  );
  for (let i = 0; i < 2; i++) await target.importFile([tree("s", [...ROOT, ...B, ...C])]);
  const sessions = await target.sessions();
  expect([...sessions].map(([id, { texts }]) => [id, texts])).toEqual([
    ["s", ["user: u1", "assistant: b", "user: own"]],
    ["s~c", ["user: u1", "assistant: b", "user: c"]],
  ]);
  expect(sessions.get("s~c")).toMatchObject({ parentId: "s", forkPointId: "b", inheritedCount: 2 });
});

it("a session that was edited here does not get back what the edit removed", async () => {
  const target = importTarget();
  const file = [tree("s", [...ROOT, ...B, ...C])];
  await target.importFile(file);
  await target.use(({ sessions }) => sessions.revertSession("s", "u1"));
  const report = await target.importFile(file);
  expect(report).toMatchObject({ imported: 0, existing: 1, grown: 0 });
  expect((await target.sessions()).get("s")?.texts).toEqual(["user: u1"]);
});

it("a session whose id belongs to something else stays as it is", async () => {
  const target = importTarget();
  await target.use(({ sessions }) =>
    sessions.appendMessages("s", [{ id: "x", role: "user", parts: [] }], { createSession: true }),
  );
  expect(await target.importFile([tree("s", ROOT)])).toMatchObject({ imported: 0, existing: 1, grown: 0 });
  expect((await target.sessions()).get("s")?.messages.map(({ id }) => id)).toEqual(["x"]);
});
