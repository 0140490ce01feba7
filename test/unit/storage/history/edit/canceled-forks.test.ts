import { beforeEach, describe, expect, it } from "vitest";
import { DomainError } from "../../../../../src/domain/errors.js";
import { LogHistoryProvider } from "../../../../../src/storage/history/log-history-provider.js";
import type { LogStore } from "../../../../../src/storage/history/log-store.js";
import { MemoryLogDatabase } from "../../../../../src/storage/memory/memory-log-database.js";
import { poll } from "../../../../support/poll.js";

type Member = (...args: unknown[]) => Promise<unknown>;

/** Replacements for calls of the store. `real` is the call itself. */
let changes: Partial<Record<keyof LogStore, (real: Member, args: unknown[]) => Promise<unknown>>>;
let store: LogStore;
let provider: LogHistoryProvider;
let anomalies: string[];

beforeEach(async () => {
  changes = {};
  store = new MemoryLogDatabase().namespace("test");
  const changed = new Proxy(store, {
    get(target, name: keyof LogStore) {
      const member = target[name] as Member | undefined;
      if (typeof member !== "function") return member;
      return (...args: unknown[]) => {
        const change = changes[name];
        return change ? change(member.bind(target), args) : member.apply(target, args);
      };
    },
  });
  anomalies = [];
  provider = new LogHistoryProvider(changed, { onAnomaly: (text) => anomalies.push(text) });
  for (const sessionId of ["source", "target"]) await provider.createSession({ sessionId });
  await provider.logMessages("source", [{ id: "m1", role: "user", parts: [] }]);
});

const forks = async () => (await store.readRecord("source"))?.forks;

const kinds: [string, (call: object) => Promise<unknown>][] = [
  ["a fork", (call) => provider.forkConversation("source", "new", { as: "fork", ...call })],
  [
    "a fork up to a message",
    (call) => provider.forkConversation("source", "new", { as: "fork", upToMessageId: "m1", ...call }),
  ],
  ["a child", (call) => provider.createSession({ sessionId: "new", parentId: "source" }, call)],
];

describe.each(kinds)("%s that ends after its source's count was raised", (_name, make) => {
  it.each([
    ["canceled", undefined],
    ["deadline_exceeded", new DomainError("deadline_exceeded", "The deadline has passed")],
  ])("with %s lowers the source's count, although the call is over", async (code, reason) => {
    const stop = new AbortController();
    changes.tail = async (real, args) => {
      stop.abort(reason);
      return real(...args);
    };
    await expect(make({ signal: stop.signal })).rejects.toMatchObject({ code });
    await poll(async () => (await forks()) === 0, "the source is lowered");
    expect(await store.readRecord("new")).toBeNull();
  });

  it("lowers the source's count when the end of its log cannot be read", async () => {
    changes.tail = async () => {
      throw new DomainError("unavailable", "no");
    };
    await expect(make({})).rejects.toMatchObject({ code: "unavailable" });
    expect(await forks()).toBe(0);
  });

  it("is completed when its record is already being stored, and the source's count stays", async () => {
    const stop = new AbortController();
    changes.createRecord = async (real, args) => {
      stop.abort();
      await new Promise((resolve) => setImmediate(resolve));
      return real(...args);
    };
    await expect(make({ signal: stop.signal })).rejects.toMatchObject({ code: "canceled" });
    await poll(async () => (await store.readRecord("new")) !== null, "the record is stored");
    expect(await forks()).toBe(1);
  });

  it("reads its record back after an unknown outcome, and succeeds when the record is there", async () => {
    changes.createRecord = async (real, args) => {
      await real(...args);
      throw new DomainError("unavailable", "The connection was lost");
    };
    await make({});
    expect(await forks()).toBe(1);
    expect(await provider.getSession("new")).toMatchObject({ parentId: "source" });
  });

  it("keeps the source's count after an unknown outcome, because the record may still arrive", async () => {
    changes.createRecord = async () => {
      throw new DomainError("unavailable", "The connection was lost");
    };
    await expect(make({})).rejects.toMatchObject({ code: "unavailable" });
    expect(await forks()).toBe(1);
  });

  it("fails with its own error when the source's count cannot be lowered, and reports the count", async () => {
    changes.createRecord = async () => {
      throw new DomainError("resource_exhausted", "The disk is full");
    };
    changes.addFork = async () => {
      throw new DomainError("unavailable", "no");
    };
    await expect(make({})).rejects.toMatchObject({ code: "resource_exhausted" });
    expect(anomalies).toEqual([expect.stringMatching(/^The number of forks of .* may be too high/)]);
  });

  it("lowers the source's count after a definite refusal of its record", async () => {
    changes.createRecord = async () => {
      throw new DomainError("resource_exhausted", "The disk is full");
    };
    await expect(make({})).rejects.toMatchObject({ code: "resource_exhausted" });
    expect(await forks()).toBe(0);
  });
});

describe("an edit that releases its sources", () => {
  it("lowers their counts even though the call has ended", async () => {
    await provider.logMessages("target", [{ id: "t1", role: "user", parts: [] }]);
    await provider.forkConversation("source", "fork", { as: "fork" });
    await provider.logMessages("fork", [{ id: "m0", role: "user", parts: [], timestampMicros: 1 }]);
    const stop = new AbortController();
    changes.addFork = async (real, args) => {
      stop.abort();
      return real(...args);
    };
    await expect(provider.truncateMessages("fork", "m0", { signal: stop.signal })).rejects.toMatchObject({
      code: "canceled",
    });
    await poll(async () => (await forks()) === 0, "the source is lowered");
    expect(await provider.getMessageCount("fork")).toBe(1);
  });
});
