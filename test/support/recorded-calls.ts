import type { LogStore } from "../../src/storage/history/log-store.js";

/** A store that records the name of every call. */
export function recordedCalls(store: LogStore): { readonly store: LogStore; readonly calls: string[] } {
  const calls: string[] = [];
  const recording = new Proxy(store, {
    get(target, name) {
      const member = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      return (...args: unknown[]) => {
        calls.push(String(name));
        return member.apply(target, args);
      };
    },
  });
  return { store: recording, calls };
}
