import { describe, expect, it } from "vitest";
import type { Call } from "../../../src/domain/call.js";
import { untilCallEnd } from "../../../src/domain/call-end.js";
import { LogHistoryProvider } from "../../../src/storage/history/log-history-provider.js";
import type { LogStore } from "../../../src/storage/history/log-store.js";
import type { StorageProvider } from "../../../src/storage/storage-provider.js";
import { history, message, numbered, sessionWith } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

/** Calls for one session. Erasing is not among them, because it looks for copies in the logs of all sessions. */
const CALLS: Readonly<Record<string, (provider: StorageProvider, session: string, call: Call) => Promise<unknown>>> = {
  append: (provider, session, call) => provider.logMessages(session, [message("new")], call),
  read: (provider, session, call) => provider.getSessionMessages(session, call),
  "read one": (provider, session, call) => provider.getMessage(session, "m1", call),
  describe: (provider, session, call) => provider.getSession(session, call),
  update: (provider, session, call) => provider.updateSession(session, { title: "t" }, call),
  fork: (provider, session, call) => provider.forkConversation(session, `fork of ${session}`, { as: "fork", ...call }),
  "start a draft": (provider, session, call) => provider.startDraft(session, message("draft"), call),
  "update one": (provider, session, call) => provider.updateMessage(session, "m2", { role: "x" }, call),
  truncate: (provider, session, call) => provider.truncateMessages(session, "m2", call),
  follow: async (provider, session, call) => {
    const events = (await provider.followMessages(session, 0, call))[Symbol.asyncIterator]();
    await events.next();
    await events.return?.();
  },
};

/** When a call for the other session counts as held up. */
const HANGS_AFTER_MS = 60_000;
/** How many callers wait for the answer to each of the calls. */
const CALLERS = 10;

export function describeStuckSessions(subject: StorageProviderSubject): void {
  describe("a session about which the store answers nothing", () => {
    it("holds up no call for another session", async (context) => {
      const store = subject.store?.();
      if (!store) return context.skip("the provider is not known to keep its histories in a LogStore");
      for (const session of ["stuck", "free"]) await sessionWith(subject.provider, session, numbered(3));
      const { uid } = (await store.readRecord("stuck")) as { uid: string };
      const provider = new LogHistoryProvider(silentAbout(store, ["stuck", uid]), {
        nowMicros: () => subject.nowMicros,
      });
      const callers: AbortController[] = [];
      const waiting = Object.values(CALLS).flatMap((call) =>
        Array.from({ length: CALLERS }, () => {
          const caller = new AbortController();
          callers.push(caller);
          return call(provider, "stuck", { signal: caller.signal });
        }),
      );
      const settled = Promise.allSettled(waiting);
      for (const call of Object.values(CALLS))
        await call(provider, "free", { deadlineMs: Date.now() + HANGS_AFTER_MS });
      expect(await history(subject.other, "free")).toEqual(["m1", "m2"]);
      for (const caller of callers) caller.abort();
      for (const outcome of await settled) {
        expect(outcome).toMatchObject({ status: "rejected", reason: { code: "canceled" } });
      }
      await provider.close();
      expect(await history(subject.other, "stuck")).toEqual(["m1", "m2", "m3"]);
    });
  });
}

/** A store whose calls end only with their callers when one of their values names any of these. */
function silentAbout(store: LogStore, names: readonly string[]): LogStore {
  const isMeant = (value: unknown) => {
    const text = JSON.stringify(value) ?? "";
    return names.some((name) => text.includes(`"${name}"`) || text.includes(`"${name}.`));
  };
  return new Proxy(store, {
    get(target, property) {
      const member: unknown = Reflect.get(target, property, target);
      if (typeof member !== "function") return member;
      return (...args: unknown[]) => {
        if (!args.some(isMeant)) return member.apply(target, args);
        return untilCallEnd(new Promise(() => {}), args.at(-1) as Call | undefined);
      };
    },
  });
}
