import type { LogDatabase, LogStore } from "../../src/storage/history/log-store.js";
import { describeLogStore } from "../contract/log-store.js";
import { AtomicSimStore } from "./atomic-sim-store.js";
import { SimDatabase, sharedTables } from "./sim-database.js";
import { directSteps } from "./steps.js";
import { WeakSimStore } from "./weak-sim-store.js";

/** The clock of the case that is running. */
let nowMs: () => number;

/** A handle of the simulated stores is one namespace; here some share their logs. */
class SimLogDatabase implements LogDatabase {
  readonly name = "simulated";
  readonly #open: (db: SimDatabase) => LogStore;
  readonly #shared = sharedTables();
  readonly #handles = new Map<string, LogStore>();

  constructor(open: (db: SimDatabase) => LogStore) {
    this.#open = open;
  }

  namespace(namespace: string): LogStore {
    const handle = this.#handles.get(namespace) ?? this.#open(new SimDatabase(nowMs, this.#shared));
    this.#handles.set(namespace, handle);
    return handle;
  }

  async listNamespaces(): Promise<readonly string[]> {
    const used: string[] = [];
    for (const [name, store] of this.#handles) {
      const [record] = await store.scanRecords("", 1);
      if (record || (await store.readTodos()).revision > 0) used.push(name);
    }
    return used;
  }

  async close(): Promise<void> {}
}

const steps = directSteps(() => nowMs());
const kinds = {
  "the simulator, atomic": (db: SimDatabase) => new AtomicSimStore(db, steps).withNewest(),
  "the simulator, weak": (db: SimDatabase) => new WeakSimStore(db, steps, { block: 2, wall: 4 }).withNewest(),
};

for (const [name, open] of Object.entries(kinds)) {
  describeLogStore(name, {
    atomicAppend: name.endsWith("atomic"),
    open: async (now) => {
      nowMs = now;
      return new SimLogDatabase(open);
    },
  });
}
