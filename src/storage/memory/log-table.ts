import type { Range, RangeOptions, Segment, Tail } from "../history/log-store.js";
import { ownerOf } from "../history/record-facts.js";
import type { AttachmentMemory } from "./attachment-memory.js";
import { MemoryLog } from "./memory-log.js";

/** All logs of a database, by the uid of their owner. Empty logs are not kept. */
export class LogTable {
  readonly #owners = new Map<string, Map<string, MemoryLog>>();
  readonly #index: AttachmentMemory;

  constructor(index: AttachmentMemory) {
    this.#index = index;
  }

  get(name: string): MemoryLog | undefined {
    return this.#owners.get(ownerOf(name))?.get(name);
  }

  read(name: string, first: number, last: number, options: RangeOptions): Range {
    return this.get(name)?.read(first, last, options) ?? { entries: [], cut: false };
  }

  tail(name: string): Omit<Tail, "isNamed"> {
    return this.get(name)?.tail() ?? { last: null, state: "open" };
  }

  ownedBy(uid: string): Iterable<MemoryLog> {
    return this.#owners.get(uid)?.values() ?? [];
  }

  namesOwnedBy(uid: string): string[] {
    return [...(this.#owners.get(uid)?.keys() ?? [])];
  }

  uids(): Iterable<string> {
    return this.#owners.keys();
  }

  *all(): Generator<[string, MemoryLog]> {
    for (const logs of this.#owners.values()) yield* logs;
  }

  /** Changes a log; makes it first if it does not exist. */
  write<T>(name: string, change: (log: MemoryLog) => T): T {
    const known = this.get(name);
    if (known !== undefined) return change(known);
    const log = new MemoryLog(this.#index);
    const result = change(log);
    if (!log.empty) this.#add(name, log);
    return result;
  }

  deleteOwnedBy(uid: string, limit: number): boolean {
    let left = limit;
    for (const [name, log] of this.#owners.get(uid) ?? []) {
      if (left <= 0) return true;
      left -= log.deleteLast(left);
      if (!log.empty) return true;
      this.#remove(name);
    }
    return false;
  }

  deleteRange(range: Segment, limit: number): boolean {
    const log = this.get(range.log);
    if (log === undefined) return false;
    const more = log.deleteRange(range, limit);
    if (log.empty) this.#remove(range.log);
    return more;
  }

  #add(name: string, log: MemoryLog): void {
    const uid = ownerOf(name);
    const logs = this.#owners.get(uid) ?? new Map<string, MemoryLog>();
    logs.set(name, log);
    this.#owners.set(uid, logs);
  }

  #remove(name: string): void {
    const uid = ownerOf(name);
    const logs = this.#owners.get(uid);
    logs?.delete(name);
    if (logs?.size === 0) this.#owners.delete(uid);
  }
}
