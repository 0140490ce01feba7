import type { Call } from "../../src/domain/call.js";
import { untilCallEnd } from "../../src/domain/call-end.js";
import type { LogStore } from "../../src/storage/history/log-store.js";

/**
 * A store that stops answering once `stall` is called. As LogStore says, what it is asked then ends with the call that
 * it was given, and never without one. Also writes update times late and tells of changes, if the real store does not,
 * so that the engine's code for such stores runs, too.
 */
export function stallingStore(store: LogStore): { readonly store: LogStore; stall(): void } {
  let isStalled = false;
  const beside: Partial<LogStore> = {
    touchRecords: async () => undefined,
    subscribe: async () => async () => undefined,
  };
  const stalling = <T extends object>(real: T): T =>
    new Proxy(real, {
      get(target, name) {
        const of = name in target ? target : beside;
        const member: unknown = Reflect.get(of, name, of);
        // The tables of a store stall with it.
        if (typeof member === "object" && member !== null) return stalling(member);
        if (typeof member !== "function") return member;
        // Told without asking the database.
        if (name === "knownTimeMs") return member.bind(of);
        return (...args: unknown[]) =>
          isStalled ? untilCallEnd(new Promise(() => {}), args.findLast(isCall)) : member.apply(of, args);
      },
    });
  return {
    store: stalling(store),
    stall: () => {
      isStalled = true;
    },
  };
}

function isCall(value: unknown): value is Call {
  return typeof value === "object" && value !== null && ("deadlineMs" in value || "signal" in value);
}
