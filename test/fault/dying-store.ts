import type { LogStore } from "../../src/storage/history/log-store.js";

export interface DyingStore {
  readonly store: LogStore;
  /** How many calls have begun. */
  calls(): number;
}

const WITHOUT_CALL: readonly PropertyKey[] = ["knownTimeMs", "subscribe", "close"];

/**
 * The store of a process that is killed once the database has carried out its n-th call, before the answer arrives. No
 * later call of that process reaches the database.
 */
export function dyingStore(store: LogStore, killedAt: number): DyingStore {
  let calls = 0;
  const call = async (run: () => unknown): Promise<unknown> => {
    calls += 1;
    const isLast = calls === killedAt;
    if (calls > killedAt) throw new Error("The process is dead");
    const answer = await run();
    if (isLast) throw new Error("The process was killed");
    return answer;
  };
  const dying = <T extends object>(of: T): T => new Proxy<T>(of, { get });
  const get = (target: object, name: string | symbol) => {
    const value: unknown = Reflect.get(target, name, target);
    if (name === "attachments" && typeof value === "object" && value !== null) return dying(value);
    if (typeof value !== "function") return value;
    if (WITHOUT_CALL.includes(name)) return value.bind(target);
    return (...args: unknown[]) => call(() => value.apply(target, args));
  };
  return { store: dying(store), calls: () => calls };
}
