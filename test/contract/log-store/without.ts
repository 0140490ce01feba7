import type { LogStore } from "../../../src/storage/history/log-store.js";

/** The same store without one of its optional methods. */
export function without(store: LogStore, method: "readNewest"): LogStore {
  return new Proxy(store, {
    get(target, name) {
      if (name === method) return undefined;
      const member = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}
