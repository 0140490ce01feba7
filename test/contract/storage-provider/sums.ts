import { beforeEach, describe, expect, it } from "vitest";
import type { NewChatMessage } from "../../../src/domain/chat-message.js";
import { amountText, type Usage } from "../../../src/domain/usage.js";
import { parseGroupBy, type UsageCursor, type UsageRow } from "../../../src/domain/usage-groups.js";
import type { StorageOperations } from "../../../src/storage/storage-manager.js";
import type { SumOptions } from "../../../src/storage/storage-provider.js";
import { messageAt, refusal, SECOND, sessionWith, sweepAway, T0 } from "./fixtures.js";
import { pseudoRandom } from "./pseudo-random.js";
import type { StorageProviderSubject } from "./subject.js";

type Query = Partial<Omit<SumOptions, "groupBy">> & { readonly by?: string };

const DAY = 86_400;
/** So little that even small sums take several calls. */
const SMALL = { rows: 3, sessions: 2, bytes: 500 };

/** All rows of all pages, and how many pages had none although others followed. */
async function rowsOf(providers: readonly StorageOperations[], { by = "", ...query }: Query = {}) {
  const rows: UsageRow[] = [];
  let cursor = query.cursor;
  let empty = 0;
  for (let i = 0; ; i++) {
    const provider = providers[i % providers.length] as StorageOperations;
    const page = await provider.sumUsage({ groupBy: parseGroupBy(by), limit: 1000, ...query, cursor });
    rows.push(...page.rows);
    cursor = page.next;
    if (cursor === undefined) {
      expect(page.progress).toBe(1);
      return { rows, empty };
    }
    if (page.rows.length > 0) continue;
    expect(page.progress).toBeLessThan(1);
    if (++empty > 1000) expect.unreachable("the sum does not end");
  }
}

function used(id: string, seconds: number, usage: Usage = {}): NewChatMessage {
  return messageAt(id, seconds, { usage: { model: "m", inputTokens: 1, ...usage } });
}

function calling(id: string, seconds: number, callId: string, name = "bash"): NewChatMessage {
  return messageAt(id, seconds, {
    parts: [{ id: "", type: "tool_use", text: "", data: { id: callId, name, input: {} } }],
  });
}

function result(id: string, seconds: number, callId: string, isError = false): NewChatMessage {
  const data = { tool_use_id: callId, is_error: isError };
  return messageAt(id, seconds, { parts: [{ id: "", type: "tool_result", text: "out", data }] });
}

export function describeSums(subject: StorageProviderSubject): void {
  /** The values of each row, its calls and its tokens, summed up at once and in portions. */
  const sums = async (query: Query = {}): Promise<readonly (readonly unknown[])[]> => {
    const { rows } = await rowsOf([subject.other], query);
    const small = subject.open({ usageSums: SMALL });
    expect((await rowsOf([small], { ...query, limit: 2 })).rows).toEqual(rows);
    return rows.map(({ values, calls, inputTokens }) => [...values, calls, inputTokens]);
  };
  const toolSums = async (query: Query = {}): Promise<readonly (readonly unknown[])[]> => {
    const { rows } = await rowsOf([subject.other], { by: "tool", ...query });
    const small = subject.open({ usageSums: SMALL });
    expect((await rowsOf([small], { by: "tool", ...query, limit: 2 })).rows).toEqual(rows);
    return rows.map(({ values, calls, failedCalls }) => [...values, calls, failedCalls]);
  };

  describe("sumUsage", () => {
    beforeEach(() => {
      subject.nowMicros = T0 + 30 * DAY * SECOND;
    });

    it("has no rows without usage, and one without groups", async () => {
      expect(await sums()).toEqual([]);
      await sessionWith(subject.provider, "s", ["m0"]);
      expect(await sums()).toEqual([]);
      await subject.provider.logMessages("s", [used("m1", 1), used("m2", 2)]);
      expect(await sums()).toEqual([[2, 2]]);
    });

    it("groups by each name and by several, in their order", async () => {
      const { provider } = subject;
      await provider.createSession({ sessionId: "a", owner: "ada", labels: { team: "red", "x,y": "" } });
      await provider.createSession({ sessionId: "b", labels: { team: "blue" } });
      await provider.createSession({ sessionId: "c" });
      await provider.logMessages("a", [used("m1", 1, { provider: "p" }), used("m2", DAY, { model: undefined })]);
      await provider.logMessages("b", [used("m3", 2)]);
      await provider.logMessages("c", [used("m4", DAY + 1, { model: "n" })]);
      expect(await sums({ by: "day" })).toEqual([
        ["2026-01-01", 2, 2],
        ["2026-01-02", 2, 2],
      ]);
      expect(await sums({ by: "day", timeZone: "America/New_York" })).toEqual([
        ["2025-12-31", 2, 2],
        ["2026-01-01", 2, 2],
      ]);
      expect(await sums({ by: "model" })).toEqual([
        ["", 1, 1],
        ["m", 2, 2],
        ["n", 1, 1],
      ]);
      expect(await sums({ by: "provider" })).toEqual([
        ["", 3, 3],
        ["p", 1, 1],
      ]);
      expect(await sums({ by: "owner" })).toEqual([
        ["", 2, 2],
        ["ada", 2, 2],
      ]);
      expect(await sums({ by: "session" })).toEqual([
        ["a", 2, 2],
        ["b", 1, 1],
        ["c", 1, 1],
      ]);
      expect(await sums({ by: "label:team" })).toEqual([
        [null, 1, 1],
        ["blue", 1, 1],
        ["red", 2, 2],
      ]);
      expect(await sums({ by: 'label:"x,y",day' })).toEqual([
        [null, "2026-01-01", 1, 1],
        [null, "2026-01-02", 1, 1],
        ["", "2026-01-01", 1, 1],
        ["", "2026-01-02", 1, 1],
      ]);
    });

    it("counts only what its filters let through", async () => {
      const { provider } = subject;
      await provider.createSession({ sessionId: "a", owner: "ada", labels: { team: "red", stage: "1" } });
      await provider.createSession({ sessionId: "b", labels: { team: "red" } });
      await provider.logMessages("a", [used("m1", 1), used("m2", 2, { model: "n" }), used("m3", 3)]);
      await provider.logMessages("b", [used("m4", 4)]);
      expect(await sums({ owner: "ada" })).toEqual([[3, 3]]);
      expect(await sums({ owner: "" })).toEqual([[1, 1]]);
      expect(await sums({ owner: "eve" })).toEqual([]);
      expect(await sums({ labels: ["team=red"] })).toEqual([[4, 4]]);
      expect(await sums({ labels: ["team=red", "stage=1"] })).toEqual([[3, 3]]);
      expect(await sums({ sessionId: "b" })).toEqual([[1, 1]]);
      expect(await sums({ sessionId: "b", owner: "ada" })).toEqual([]);
      expect(await sums({ sessionId: "b", labels: ["stage=1"] })).toEqual([]);
      expect(await sums({ model: "n" })).toEqual([[1, 1]]);
      expect(await sums({ sinceMicros: T0 + 2 * SECOND })).toEqual([[3, 3]]);
      expect(await sums({ untilMicros: T0 + 2 * SECOND })).toEqual([[1, 1]]);
      expect(await sums({ sinceMicros: T0 + 2 * SECOND, untilMicros: T0 + 3 * SECOND })).toEqual([[1, 1]]);
      await refusal(rowsOf([provider], { sessionId: "missing" }), "not_found");
    });

    it("counts nothing twice, and only what is shown, through forks, shares, copies and edits", async () => {
      const { provider, other } = subject;
      await sessionWith(provider, "a", [used("m1", 1), used("m2", 2), used("m3", 3)]);
      await provider.forkConversation("a", "fork", { as: "fork", upToMessageId: "m2" });
      await provider.forkConversation("a", "share", { as: "share" });
      await sessionWith(provider, "copy", [used("c1", 2.5)]);
      await provider.forkConversation("a", "copy", { as: "copy" });
      await other.logMessages("fork", [used("f1", 4)]);
      expect(await sums({ by: "session" })).toEqual([
        ["a", 3, 3],
        ["copy", 1, 1],
        ["fork", 1, 1],
      ]);
      await provider.truncateMessages("a", "m1", { keepForUnrevert: true });
      await provider.updateMessage("fork", "f1", { usage: { inputTokens: 5 } });
      expect(await sums({ by: "session" })).toEqual([
        ["a", 1, 1],
        ["copy", 1, 1],
        ["fork", 1, 5],
      ]);
      await other.restoreMessages("a");
      await provider.deleteMessage("a", "m1");
      await provider.eraseMessage("a", "m2");
      expect(await sums({ by: "session,model" })).toMatchObject([
        ["a", expect.any(String), 1, 1],
        ["a", "m", 1, 1],
        ["copy", "m", 1, 1],
        ["fork", "", 1, 5],
      ]);
      await sweepAway(subject);
      await provider.deleteSession("copy");
      await provider.deleteSession("a");
      // The messages that came from `a` are again its own when a fork of what took them over has its id.
      await provider.forkConversation("share", "a", { as: "fork" });
      expect(await sums({ by: "session" })).toEqual([
        ["a", 3, 3],
        ["fork", 1, 5],
      ]);
    });

    it("has exact costs by currency, and percentiles by the nearest rank", async () => {
      const costs = ["0.1", "0.2", "999999999999.000000000000000001", "0"];
      const given = costs.map((cost, i) =>
        used(`m${i}`, i, { cost, currency: "USD", durationMicros: (i + 1) * SECOND }),
      );
      await sessionWith(subject.provider, "s", [...given, used("m9", 9, { cost: "3", currency: "EUR" })]);
      const { rows } = await rowsOf([subject.other]);
      expect(rows).toHaveLength(1);
      const [row] = rows as [UsageRow];
      expect([...row.costs].map(([currency, units]) => [currency, amountText(units)]).sort()).toEqual([
        ["EUR", "3"],
        ["USD", "999999999999.300000000000000001"],
      ]);
      expect([row.durationMicros, row.durationP50Micros, row.durationP95Micros]).toEqual([
        10 * SECOND,
        2 * SECOND,
        4 * SECOND,
      ]);
    });

    it("counts each call of a tool once, and as failed if its result says so", async () => {
      const { provider } = subject;
      await provider.createSession({ sessionId: "s", owner: "ada" });
      await provider.logMessages("s", [
        calling("m1", 1, "c1"),
        result("m2", 2, "c1", true),
        { ...calling("m3", 3, "c2", "read"), usage: { model: "n" } },
        calling("m4", 4, "c1"),
        messageAt("m5", 5),
        calling("m6", DAY, "c3"),
        result("m7", DAY + 1, "c2"),
        result("m8", DAY + 2, "other", true),
        result("m9", 2 * DAY, "c3", true),
      ]);
      await provider.forkConversation("s", "f", { as: "fork" });
      await provider.logMessages("f", [calling("f1", 3 * DAY, "c1", "ls")]);
      expect(await toolSums()).toEqual([
        ["bash", 2, 2],
        ["ls", 1, 0],
        ["read", 1, 0],
      ]);
      expect(await toolSums({ by: "tool,model,session,owner" })).toEqual([
        ["bash", "", "s", "ada", 2, 2],
        ["ls", "", "f", "ada", 1, 0],
        ["read", "n", "s", "ada", 1, 0],
      ]);
      const day = { sinceMicros: T0 + DAY * SECOND, untilMicros: T0 + (DAY + 1) * SECOND };
      expect(await toolSums({ by: "day,tool", ...day })).toEqual([["2026-01-02", "bash", 1, 1]]);
      expect(await toolSums({ model: "n" })).toEqual([["read", 1, 0]]);
      const [row] = (await rowsOf([provider], { by: "tool" })).rows;
      expect(row).toMatchObject({ inputTokens: 0, durationMicros: 0, durationP50Micros: undefined });
    });

    it("counts a call as failed if the message with its result stands before it", async () => {
      const { provider } = subject;
      await provider.createSession({ sessionId: "s" });
      await provider.logMessages("s", [
        result("m1", 1, "c1", true),
        result("m2", 2, "c2"),
        calling("m3", 3, "c1"),
        calling("m4", 4, "c2"),
        calling("m5", 5, "c1"),
        result("m6", 6, "c2"),
      ]);
      expect(await toolSums()).toEqual([["bash", 2, 1]]);
    });

    it("has no row for a call of which another message has told before", async () => {
      const { provider } = subject;
      await provider.createSession({ sessionId: "s" });
      await provider.logMessages("s", [
        calling("m1", 1, "c1"),
        calling("m2", DAY, "c1"),
        result("m3", DAY + 1, "c1", true),
        calling("m4", DAY + 2, "c1", "read"),
      ]);
      expect(await toolSums({ by: "tool,day" })).toEqual([["bash", "2026-01-01", 1, 1]]);
    });

    it("shows callers only what they may see", async () => {
      const { provider, other } = subject;
      await provider.createSession({ sessionId: "a", owner: "ada" });
      await provider.createSession({ sessionId: "e", owner: "eve" });
      await provider.logMessages("a", [used("m1", 1)]);
      await provider.logMessages("e", [used("m2", 2)]);
      const access = { owner: "ada" };
      expect(await sums({ by: "owner,session", access })).toEqual([["ada", "a", 1, 1]]);
      expect(await sums({ access, owner: "eve" })).toEqual([]);
      expect(await sums({ access, owner: "" })).toEqual([]);
      expect(await sums({ access, sessionId: "a" })).toEqual([[1, 1]]);
      await refusal(rowsOf([other], { access, sessionId: "e" }), "not_found");
      const { uid, generation } = await provider.getTicketMark("a");
      const ticket = { ticket: { sessionId: "a", uid, generation } };
      await refusal(rowsOf([other], { access: ticket }), "permission_denied");
      // What one caller has begun never answers another one.
      const small = subject.open({ usageSums: SMALL });
      const { next } = await small.sumUsage({ groupBy: [], limit: 1 });
      const page = await rowsOf([small], { access });
      const joined = await small.sumUsage({ groupBy: [], limit: 1, access, cursor: next });
      expect(joined.rows.length === 0 || joined.rows[0]?.calls === page.rows[0]?.calls).toBe(true);
    });

    it("ends and joins up its pages, also when several processes answer in turn", async () => {
      const { provider } = subject;
      for (let i = 0; i < 7; i++) {
        await sessionWith(provider, `s${i}`, [used("m1", i), used("m2", i + 1), calling("m3", i + 2, "c", `t${i}`)]);
      }
      const processes = [1, 2].map(() => subject.open({ usageSums: { ...SMALL, rows: 2 } }));
      for (const by of ["", "session", "day,session", "tool"]) {
        const { rows } = await rowsOf([provider], { by });
        const portions = await rowsOf(processes, { by, limit: 2 });
        expect(portions.rows).toEqual(rows);
        expect(portions.empty).toBeGreaterThan(1);
      }
      // Rows that do not fit into memory are added up in several rounds.
      const tight = subject.open({ usageSums: { tableBytes: 2000 } });
      const { rows } = await rowsOf([provider], { by: "session" });
      expect((await rowsOf([tight], { by: "session", limit: 2 })).rows).toEqual(rows);
    });

    it("counts sessions that change while the sum is made", async () => {
      const { provider } = subject;
      for (let i = 0; i < 6; i++) await sessionWith(provider, `s${i}`, [used("m1", i)]);
      const small = subject.open({ usageSums: { sessions: 1, rows: 1 } });
      let cursor: UsageCursor | undefined;
      const rows: UsageRow[] = [];
      for (let i = 0; (i === 0 || cursor !== undefined) && i < 500; i++) {
        const page = await small.sumUsage({ groupBy: parseGroupBy("session"), limit: 100, cursor });
        rows.push(...page.rows);
        cursor = page.next;
        subject.nowMicros += 70 * SECOND;
        const changed = `s${i % 6}`;
        await provider.updateSession(changed, { title: `t${i}` });
        if (i < 4) await provider.logMessages(changed, [used(`n${i}`, 100 + i)]);
      }
      expect(rows.map(({ values }) => values[0])).toEqual(["s0", "s1", "s2", "s3", "s4", "s5"]);
    });

    it("leaves out sessions that no longer match its filters when they are read again", async () => {
      const { provider, other } = subject;
      const labels = { team: "red" };
      for (const sessionId of ["a", "given", "kept", "relabelled"]) {
        await provider.createSession({ sessionId, owner: "ada", labels });
        await provider.logMessages(sessionId, [used("m1", 1), calling("m2", 2, "c")]);
      }
      for (const by of ["owner,session", "tool,owner,session"]) {
        const small = subject.open({ usageSums: { sessions: 1, rows: 1, bytes: 1 } });
        const query = { groupBy: parseGroupBy(by), limit: 100, labels: ["team=red"], access: { owner: "ada" } };
        const { rows, next } = await small.sumUsage(query);
        expect(rows).toEqual([]);
        await other.updateSession("given", { owner: "bob" });
        await other.updateSession("relabelled", { labels: { team: "blue" } });
        await other.logMessages("given", [used(`${by}1`, 3), calling(`${by}2`, 4, by)]);
        subject.nowMicros += 70 * SECOND;
        const left = (await rowsOf([small], { by, labels: ["team=red"], access: { owner: "ada" }, cursor: next })).rows;
        const owners = left.map(({ values }) => values.at(-2));
        expect(new Set(owners)).toEqual(new Set(["ada"]));
        // A store with a clock of its own has read all of them lately.
        if (subject.store?.().knownTimeMs === undefined)
          expect(left.map(({ values }) => values.at(-1))).toEqual(["a", "kept"]);
        await other.updateSession("given", { owner: "ada" });
        await other.updateSession("relabelled", { labels });
      }
    });

    it("returns nothing that was erased, although it began before", async () => {
      const { provider, other } = subject;
      for (const id of ["a", "b", "c", "d"]) {
        await provider.createSession({ sessionId: id, owner: `owner ${id}`, labels: { team: `team ${id}` } });
        await provider.logMessages(id, [
          used("m1", 1, { model: `model ${id}`, provider: `provider ${id}` }),
          calling("m2", 2, "c", `tool ${id}`),
        ]);
      }
      const small = subject.open({ usageSums: { sessions: 1, rows: 1, bytes: 1 } });
      /** What sums return that have returned `a` and `b`, or nothing yet, when this is done in both processes. */
      const leftAfter = async (erase: (process: StorageOperations) => Promise<unknown>): Promise<string> => {
        const begun = [];
        for (const by of ["model", "provider", "tool", "owner", "label:team"]) {
          const query = { groupBy: parseGroupBy(by), limit: by === "model" || by === "provider" ? 3 : 2 };
          for (const process of [other, small]) {
            const { rows, next } = await process.sumUsage(query);
            expect(rows).toHaveLength(process === small ? 0 : query.limit);
            begun.push({ process, by, cursor: next });
          }
        }
        await erase(other);
        await erase(small);
        const texts: (string | null | undefined)[] = [];
        for (const { process, by, cursor } of begun) {
          const { rows } = await rowsOf([process], { by, cursor });
          texts.push(...rows.flatMap(({ values }) => values));
        }
        return texts.join();
      };
      expect(await leftAfter(() => Promise.resolve())).toMatch(/model d.*provider d.*tool d/);
      const left = await leftAfter(async (process) => {
        await process.eraseMessage("d", "m1");
        await process.eraseMessage("d", "m2");
      });
      expect(left).not.toMatch(/(model|provider|tool) d/);
      expect(left).toMatch(/owner d.*team d/);
      expect(await leftAfter((process) => process.eraseOwner("owner d"))).not.toMatch(/ d/);
    });

    it("equals what a script adds up from all messages", async () => {
      const { provider, other } = subject;
      const random = pseudoRandom(41);
      const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T;
      const ids: string[] = [];
      for (let i = 0; i < 8; i++) {
        const id = `s${i}`;
        const source = ids.length > 1 && random() < 0.5 ? pick(ids) : undefined;
        const as = pick(["fork", "share"] as const);
        if (source !== undefined) await provider.forkConversation(source, id, { as });
        else await provider.createSession({ sessionId: id, labels: { team: pick(["x", "y"]) } });
        ids.push(id);
        const given = Array.from({ length: 6 }, (_, n) => {
          const usage = {
            ...{ model: pick(["a", "b", undefined]), inputTokens: Math.floor(random() * 100) },
            ...(random() < 0.5 && { cost: `0.0${Math.floor(random() * 1000)}`, currency: pick(["USD", "EUR"]) }),
            durationMicros: Math.floor(random() * 5e9),
          };
          return messageAt(`${id}-${n}`, i * DAY + n, random() < 0.7 ? { usage } : {});
        });
        await provider.logMessages(id, given);
        const victim = pick(ids);
        if (random() < 0.3) await provider.truncateMessages(victim, null, { keepForUnrevert: true });
        if (random() < 0.3 && victim !== id) await provider.forkConversation(id, victim, { as: "copy" });
      }
      for (const by of ["day", "model", "session", "label:team,model"]) {
        const expected = await naiveSums(other, ids, by.split(","));
        expect((await rowsOf([subject.open({ usageSums: SMALL })], { by, limit: 3 })).rows).toEqual(expected);
      }
    });
  });
}

/** Adds up the messages of sessions as somebody would who has read them all. */
async function naiveSums(provider: StorageOperations, ids: readonly string[], by: readonly string[]) {
  const groups = new Map<string, { readonly values: (string | null)[]; readonly usages: Usage[] }>();
  for (const sessionId of ids) {
    const { labels } = await provider.getSession(sessionId);
    for (const message of await provider.getSessionMessages(sessionId)) {
      if (message.originSessionId !== sessionId || message.usage === undefined) continue;
      const values = by.map((name) => {
        if (name === "day") return new Date(message.timestampMicros / 1000).toISOString().slice(0, 10);
        if (name === "session") return sessionId;
        return name === "model" ? (message.usage?.model ?? "") : (labels?.team ?? null);
      });
      const key = JSON.stringify(values);
      groups.set(key, { values, usages: [...(groups.get(key)?.usages ?? []), message.usage] });
    }
  }
  const rows = [...groups.values()].map(({ values, usages }) => {
    const durations = usages
      .flatMap(({ durationMicros = -1 }) => (durationMicros < 0 ? [] : [durationMicros]))
      .sort((a, b) => a - b);
    const rank = (percent: number) => durations[Math.ceil((percent * durations.length) / 100) - 1];
    const costs = new Map<string, bigint>();
    for (const { cost, currency = "" } of usages) {
      const units = BigInt(((cost ?? "0").split(".")[1] ?? "").padEnd(18, "0"));
      if (units !== 0n) costs.set(currency, (costs.get(currency) ?? 0n) + units);
    }
    return {
      ...{ values, calls: usages.length, failedCalls: 0, costs },
      inputTokens: usages.reduce((sum, { inputTokens = 0 }) => sum + inputTokens, 0),
      ...{ outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0 },
      durationMicros: durations.reduce((sum, micros) => sum + micros, 0),
      ...{ durationP50Micros: rank(50), durationP95Micros: rank(95) },
    };
  });
  const before = (a: string | null, b: string | null) => (a === b ? 0 : a === null || (b !== null && a < b) ? -1 : 1);
  return rows.sort(
    (a, b) => before(a.values[0] ?? null, b.values[0] ?? null) || before(a.values[1] ?? null, b.values[1] ?? null),
  );
}
