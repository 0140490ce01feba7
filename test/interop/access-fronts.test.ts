import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createMcpServer } from "../../src/commands/mcp/mcp-server.js";
import { toolsFor } from "../../src/commands/mcp/tools.js";
import { DEFAULT_LIMITS } from "../../src/domain/limits.js";
import { MemoryStorageProvider, RootPool } from "../../src/index.js";
import * as conversations from "../../src/server/openai/conversations.js";
import { AccessBed, CALLERS, type Caller, KINDS, type Kind, type Subject } from "./access/bed.js";
import { expectedFor, verdictOf } from "./access/expected.js";
import { MCP_ROWS } from "./access/mcp-rows.js";
import { OPENAI_ROWS, type OpenAiRow } from "./access/openai-rows.js";

describe("OpenAI's routes for every caller and kind of session", () => {
  let bed: AccessBed;
  let subjects: Readonly<Record<Kind, Subject>>;

  beforeAll(async () => {
    bed = await AccessBed.start("memory");
    const made = await Promise.all(KINDS.map(async (kind) => [kind, await bed.make(kind)] as const));
    subjects = Object.fromEntries(made) as typeof subjects;
  });

  afterAll(() => bed.stop());

  it("have a row each", () => {
    expect(Object.keys(OPENAI_ROWS).sort()).toEqual(Object.keys(conversations).sort());
  });

  it.each(Object.entries(OPENAI_ROWS))("%s", async (_, row) => {
    const calls = CALLERS.flatMap((caller) => KINDS.map((kind) => callBy(row, caller, kind)));
    expect((await Promise.all(calls)).filter((problem) => problem !== null)).toEqual([]);
  });

  async function callBy(row: OpenAiRow, caller: Caller, kind: Kind) {
    const expected = row.about === "nothing" && caller.startsWith("ticket") ? "denied" : expectedFor(row, caller, kind);
    const isDestroyed = row.isDestructive && expected === "admitted";
    const subject = isDestroyed ? await bed.make(kind) : subjects[kind];
    const answer = await send(row, subject.sessionId, bed.credentialOf(caller, kind, subject, subjects.own));
    const found = await verdictOfAnswer(row, answer, subject, bed.credentialOf(caller, kind, subject, subject));
    if (found !== expected) return `${caller}, ${kind}: ${expected} was expected, but got ${found}: ${answer.text}`;
    const isLimited = caller.startsWith("bound") || caller.startsWith("ticket");
    const secrets = [subjects["another's"].secret, subjects.ownerless.secret];
    return isLimited && secrets.some((secret) => answer.text.includes(secret)) ? `${caller}: ${answer.text}` : null;
  }

  /** A hidden session has the same answer as one that was never there. */
  async function verdictOfAnswer(row: OpenAiRow, { status, text }: Sent, { sessionId }: Subject, key: string) {
    if (status < 300) return "admitted";
    if (status === 403) return "denied";
    // Tickets may not ask for another session.
    const missing = key.startsWith("spt_") ? undefined : await send(row, "never-there", key);
    if (status === 404 && text.includes(sessionId)) {
      if (missing !== undefined) expect(text.replaceAll(sessionId, "never-there")).toBe(missing.text);
      return "hidden";
    }
    return status === 404 ? "admitted" : `${status}`;
  }

  async function send({ method, path, body }: OpenAiRow, sessionId: string, key: string): Promise<Sent> {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const url = `${bed.server.httpUrl}/v1/conversations${path(sessionId)}`;
    const answer = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    return { status: answer.status, text: await answer.text() };
  }
});

interface Sent {
  readonly status: number;
  readonly text: string;
}

describe("tools for a Model Context Protocol client that is bound to an owner", () => {
  const client = new Client({ name: "test", version: "1" });
  const rootPool = new RootPool({ storage: new MemoryStorageProvider({ search: true }) });
  const hidden = ["bobs", "free", "gone", "late"];

  beforeAll(async () => {
    const context = { namespace: "default", rootPool, limits: DEFAULT_LIMITS, access: { owner: "ada" } };
    const [near, far] = InMemoryTransport.createLinkedPair();
    await createMcpServer(context, { allowWrites: true }).connect(far);
    await client.connect(near);
    for (const [sessionId, owner] of [
      ["own", "ada"],
      ["bobs", "bob"],
      ["free", undefined],
      ["gone", "ada"],
      ["late", "ada"],
    ] as const) {
      await rootPool.sessions.createSession({ sessionId, owner, title: `secret of ${sessionId}` });
      for (const id of ["m1", "m2"]) {
        const parts = [{ id: "", type: "text", text: `word, secret of ${sessionId}` }];
        await rootPool.sessions.appendMessage(sessionId, { id, role: "user", parts });
      }
    }
    await rootPool.sessions.deleteSession("gone");
    await rootPool.sessions.updateSession("late", { expireTimeMicros: 1 });
  });

  afterAll(async () => {
    await client.close();
    await rootPool.close();
  });

  it("have a row each", () => {
    const names = toolsFor({ allowWrites: true }).map(({ name }) => name);
    expect([...new Set(MCP_ROWS.map(({ tool }) => tool))].sort()).toEqual(names.sort());
  });

  it.each(MCP_ROWS)("$tool", async ({ tool, about, args }) => {
    for (const [i, sessionId] of ["own", ...hidden].entries()) {
      const isGone = sessionId === "gone" || sessionId === "late";
      // A session with the id of one that is gone would take its place.
      if (about === "id" && isGone) continue;
      const { isError, content } = await client.callTool({ name: tool, arguments: args(sessionId, `${tool}-${i}`) });
      const { text } = (content as { text: string }[])[0]!;
      const [code, ...message] = text.split(": ");
      const verdict = verdictOf(isError ? { code: code as string, message: message.join(": ") } : undefined);
      const forHidden = { session: "hidden", id: "taken", list: "admitted", nothing: "admitted" }[about];
      expect(`${sessionId} ${verdict}`).toBe(`${sessionId} ${sessionId === "own" ? "admitted" : forHidden}`);
      expect(text).not.toMatch(/secret of (bobs|free|gone|late)/);
    }
  });
});
