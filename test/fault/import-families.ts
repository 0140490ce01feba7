import type { RootPool } from "../../src/pool/root-pool.js";

type Sessions = RootPool["sessions"];

/** Long enough after the test's clock that nothing expires while messages are imported. */
const LATER_MICROS = 4_000_000_000_000_000;

/**
 * Families of sessions that an import may be killed in. All sessions of a family are made at the same moment, so that
 * they stand in the file in the order of their ids: the earlier in the alphabet, the earlier in the file.
 */
export const FAMILIES: Readonly<Record<string, (sessions: Sessions, root: RootPool) => Promise<void>>> = {
  "forks before their source": async (sessions) => {
    await write(sessions, "z", "z1", "z2", "z3");
    await fork(sessions, "z", "a", "z2");
    await fork(sessions, "z", "b");
    await write(sessions, "a", "a1");
  },
  "chains of forks, each before its source": async (sessions) => {
    await write(sessions, "z", "z1");
    for (const [source, id] of ["zy", "yx", "xw", "wv"].map((pair) => [...pair] as [string, string])) {
      await fork(sessions, source, id);
      await write(sessions, id, `${id}1`, `${id}2`);
    }
    await fork(sessions, "x", "zz", "y1");
  },
  "forks that took no message, before and after their source": async (sessions) => {
    await sessions.createSession({ sessionId: "m" });
    await fork(sessions, "m", "a");
    await fork(sessions, "a", "z");
    await write(sessions, "m", "m1");
  },
  "forks of deleted sources": async (sessions) => {
    await write(sessions, "z", "z1", "z2", "z3");
    for (const id of ["a", "b"]) await fork(sessions, "z", id);
    await fork(sessions, "b", "aa", "z2");
    await fork(sessions, "b", "c");
    await write(sessions, "b", "b1");
    await sessions.deleteSession("z");
    await write(sessions, "z", "new");
    await fork(sessions, "z", "d");
  },
  "shares of a fork": async (sessions) => {
    await write(sessions, "z", "z1", "z2");
    await fork(sessions, "z", "m", "z1");
    await write(sessions, "m", "m1");
    await sessions.shareSession("m", { newSessionId: "a" });
    await sessions.shareSession("z", { newSessionId: "zz" });
    await write(sessions, "m", "m2");
  },
  "children and grandchildren, before and after their parents": async (sessions) => {
    await write(sessions, "m", "m1", "m2");
    await sessions.createSession({ sessionId: "z", parentId: "m" });
    await sessions.createSession({ sessionId: "a", parentId: "m" });
    await write(sessions, "a", "a1");
    await sessions.createSession({ sessionId: "b", parentId: "a" });
    await fork(sessions, "z", "c");
    await fork(sessions, "b", "aa");
    await write(sessions, "m", "m3");
  },
  "what was reverted, and forks of it": async (sessions) => {
    await write(sessions, "z", "z1", "z2", "z3");
    await fork(sessions, "z", "b");
    await sessions.revertSession("z", "z1");
    await fork(sessions, "z", "a");
    await sessions.revertSession("b", "z2");
    await write(sessions, "y", "y1", "y2");
    await sessions.revertSession("y", null);
    await sessions.unrevertSession("y");
    await fork(sessions, "y", "c", "y1");
  },
  "drafts, open and finished": async (sessions) => {
    await write(sessions, "z", "z1");
    const draft = { role: "assistant", parts: [part("half")] };
    await sessions.drafts.start("z", { ...draft, id: "open" });
    const { version } = await sessions.drafts.start("z", { ...draft, id: "done" });
    await sessions.drafts.finish("z", "done", { version });
    await fork(sessions, "z", "a");
  },
  "sessions that expire, and forks of an expired one": async (sessions) => {
    await sessions.createSession({ sessionId: "z", expireTimeMicros: LATER_MICROS });
    await write(sessions, "z", "z1");
    await fork(sessions, "z", "a");
    await write(sessions, "y", "y1", "y2");
    for (const id of ["b", "yy"]) await fork(sessions, "y", id);
    await sessions.updateSession("y", { expireTimeMicros: 1 });
  },
  "copies, older messages, edits, labels and todos": async (sessions, root) => {
    await write(sessions, "m", "m1", "m2", "m3");
    await sessions.createSession({ sessionId: "b", title: "B", labels: { a: "1" }, metadata: { deep: [null, 1] } });
    await sessions.copyMessages("m", "b");
    await write(sessions, "c", "c1");
    await sessions.copyMessages("b", "c");
    await fork(sessions, "b", "a");
    await sessions.appendMessage("b", { id: "old", role: "user", timestampMicros: 5, parts: [] });
    await sessions.updateMessage("b", "m1", { parts: [part("new")] });
    await sessions.deleteMessage("m", "m2");
    await sessions.truncateMessages("c", "m2");
    await fork(sessions, "b", "aa", "m2");
    await root.todos.replace([{ id: "t", content: "c", status: "", priority: "" }]);
  },
};

async function write(sessions: Sessions, sessionId: string, ...ids: readonly string[]): Promise<void> {
  const messages = ids.map((id) => ({ id, role: "user", parts: [part(`text of ${id}`)] }));
  await sessions.appendMessages(sessionId, messages, { createSession: true });
}

async function fork(sessions: Sessions, source: string, newSessionId: string, upToMessageId?: string): Promise<void> {
  await sessions.forkSession(source, { newSessionId, upToMessageId });
}

function part(text: string) {
  return { id: "", type: "text", text };
}
