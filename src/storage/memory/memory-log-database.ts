import type { Entry, LogDatabase, SessionRecord, StoredAttachment, StoreFigures } from "../history/log-store.js";
import { openDrafts, sweepTimeOf } from "../history/record-facts.js";
import { AttachmentMemory } from "./attachment-memory.js";
import { LogTable } from "./log-table.js";
import { MemoryFeed } from "./memory-feed.js";
import { MemoryLogStore, type MemoryNamespace, type MemoryState } from "./memory-log-store.js";
import { MemoryRegisters } from "./memory-registers.js";
import { RecordTable } from "./record-table.js";

export interface MemoryLogDatabaseOptions {
  /** The store's clock, in milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
}

/** Everything that a database holds, for tests that look for losses and leftovers. */
export interface MemoryDump {
  readonly records: readonly SessionRecord[];
  readonly logs: ReadonlyMap<string, { readonly entries: readonly Entry[]; readonly sealed: boolean }>;
  readonly attachments: readonly StoredAttachment[];
}

/** Keeps everything in the memory of this process. */
export class MemoryLogDatabase implements LogDatabase {
  readonly name = "memory:";
  readonly registers = new MemoryRegisters();
  readonly #namespaces = new Map<string, MemoryNamespace>();
  readonly #attachments = new AttachmentMemory();
  readonly #logs = new LogTable(this.#attachments);
  readonly #now: () => number;
  #closed = false;

  constructor(options: MemoryLogDatabaseOptions = {}) {
    this.#now = options.now ?? Date.now;
  }

  namespace(namespace: string): MemoryLogStore {
    let own = this.#namespaces.get(namespace);
    if (own === undefined) {
      own = { records: new RecordTable(), feed: new MemoryFeed(), todos: { todos: [], revision: 0 } };
      this.#namespaces.set(namespace, own);
    }
    return new MemoryLogStore(this.#state(), own);
  }

  async listNamespaces(): Promise<readonly string[]> {
    const used = [...this.#namespaces].filter(
      ([, { records, todos, feed }]) => records.size > 0 || todos.revision > 0 || feed.hasDepartures,
    );
    return used.map(([name]) => name).sort();
  }

  async figures(): Promise<StoreFigures> {
    const nowMs = this.#now();
    let sessions = 0;
    let drafts = 0;
    let sinceMs = nowMs;
    for (const { records } of this.#namespaces.values()) {
      for (const record of records.all()) {
        const markedMs = record.forks > 0 || record.restoring ? null : sweepTimeOf(record);
        if (markedMs !== null && markedMs > 0) sinceMs = Math.min(sinceMs, markedMs);
        if (record.deleted) continue;
        sessions++;
        drafts += openDrafts(record).length;
        if (record.expireTimeMicros !== undefined) sinceMs = Math.min(sinceMs, record.expireTimeMicros / 1000);
      }
    }
    return { sessions, openDrafts: drafts, unsweptAgeMs: nowMs - sinceMs };
  }

  async close(): Promise<void> {
    this.#closed = true;
  }

  dump(): MemoryDump {
    const logs = [...this.#logs.all()].map(
      ([name, log]) => [name, { entries: [...log.entries()], sealed: log.sealed }] as const,
    );
    return {
      records: [...this.#namespaces.values()].flatMap(({ records }) => [...records.all()]),
      logs: new Map(logs),
      attachments: [...this.#attachments.all()],
    };
  }

  #state(): MemoryState {
    const isClosed = () => this.#closed;
    return {
      logs: this.#logs,
      attachments: this.#attachments,
      namespaces: this.#namespaces,
      now: this.#now,
      get closed() {
        return isClosed();
      },
    };
  }
}
