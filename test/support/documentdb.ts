import { setImmediate as nextTurn } from "node:timers/promises";
import { type Document, Long } from "mongodb";
import { type MongoProxy, type ServerManner, startMongoProxy } from "./mongo-proxy.js";
import type { MongoServer } from "./mongo-server.js";

/** One in this many commands of a kind conflicts with another client's write, as happens on a busy server. */
const CONFLICT_EVERY = 5;
const WRITES: ReadonlySet<string> = new Set(["insert", "update", "delete", "findAndModify"]);
const REPLICA_SET_FIELDS = [
  ...["setName", "setVersion", "hosts", "passives", "arbiters", "primary", "me", "secondary", "electionId"],
  ...["lastWrite", "topologyVersion"],
];

const NO_CHANGE_STREAMS = refusal(
  115,
  "CommandNotSupported",
  "Stage $changeStream is not supported yet in native pipeline",
);
const NO_NOW = refusal(9, "FailedToParse", "The $$NOW operator cannot be used within this specific context");
const CONFLICT = refusal(112, "WriteConflict", "Could not acquire lock for operation due to conflict");

export interface DocumentDb extends MongoServer {
  readonly proxy: MongoProxy;
  /** How many deadlocks there were. */
  readonly deadlocks: () => number;
}

/**
 * A proxy in front of the tests' server that answers as DocumentDB 0.108 does wherever DocumentDB differs from MongoDB
 * in something that this package uses. The differences were observed on a real DocumentDB, which MONGODB_URI may name
 * instead.
 */
export async function startDocumentDb({ uri }: MongoServer): Promise<DocumentDb> {
  const locks = new RowLocks();
  const proxy = await startMongoProxy(Number(new URL(uri).port), documentDbManner(locks));
  const stop = () => proxy.close();
  return {
    uri: `mongodb://127.0.0.1:${proxy.port}`,
    kind: "given",
    process: null,
    proxy,
    deadlocks: () => locks.deadlocks,
    stop,
  };
}

function documentDbManner(locks: RowLocks): ServerManner {
  const counts = new Map<string, number>();
  return {
    async refuse(name, command) {
      if (name === "aggregate" && command.pipeline[0]?.$changeStream) return NO_CHANGE_STREAMS;
      if (!WRITES.has(name)) return undefined;
      if (namesNow([command.updates, command.update])) return NO_NOW;
      if (name === "update" && !(await locks.takeAll(command.updates))) return deadlock();
      // The store does not repeat an addition to counted bytes.
      if (command.updates?.[0]?.q.bytes !== undefined) return undefined;
      const count = (counts.get(name) ?? 0) + 1;
      counts.set(name, count);
      if (count % CONFLICT_EVERY !== 0) return undefined;
      return name !== "findAndModify" && (count / CONFLICT_EVERY) % 2 === 0 ? deadlock() : CONFLICT;
    },
    // The driver may repeat a write that has a transaction number, and DocumentDB applies it twice.
    ask: (_name, { txnNumber, ...command }) => (txnNumber === undefined ? [command] : [command, command]),
    answer(name, { operationTime: _operationTime, $clusterTime: _clusterTime, ...reply }) {
      if (reply.isWritablePrimary !== undefined || name === "hello") return greeting(reply);
      return { ...reply, ...(reply.writeErrors ? { writeErrors: reply.writeErrors.map(plainDuplicate) } : {}) };
    },
  };
}

/**
 * Rewrites the answer to hello: DocumentDB is not a replica set, calls itself a router, and gives its time as a number.
 */
function greeting(reply: Document): Document {
  const rest = Object.entries(reply).filter(([field]) => !REPLICA_SET_FIELDS.includes(field));
  return { ...Object.fromEntries(rest), msg: "isdbgrid", localTime: Long.fromNumber(Number(reply.localTime)) };
}

/** Rewrites an error of a unique key, because that of DocumentDB names neither the fields nor the values. */
function plainDuplicate({ keyPattern: _keyPattern, keyValue: _keyValue, ...error }: Document): Document {
  const [, index] = /index: (?:\S+\$)?(\S+)/.exec(error.errmsg) ?? [];
  if (Number(error.code) !== 11000 || index === undefined) return error;
  return { ...error, errmsg: `Duplicate key violation on the requested collection: Index '${index}'` };
}

/** Simulates row locks. Each command is a transaction, which holds its rows until all of its statements are done. */
class RowLocks {
  readonly #holders = new Map<string, Waiter>();
  deadlocks = 0;

  /** Locks the rows one after the other, and waits for rows that others hold. Resolves to false on a deadlock. */
  async takeAll(statements: readonly Document[]): Promise<boolean> {
    const own = new Waiter();
    try {
      for (const { q } of statements) {
        const row = String(q._id);
        for (let holder = this.#holders.get(row); holder && holder !== own; holder = this.#holders.get(row)) {
          if (!own.mayWaitFor(holder)) {
            this.deadlocks++;
            return false;
          }
          await holder.done;
        }
        this.#holders.set(row, own);
        await nextTurn();
      }
      return true;
    } finally {
      for (const [row, holder] of this.#holders) if (holder === own) this.#holders.delete(row);
      own.end();
    }
  }
}

/** A command, which may be waiting for another one. */
class Waiter {
  end = (): void => {};
  readonly done = new Promise<void>((resolve) => {
    this.end = resolve;
  });
  #waitsFor: Waiter | null = null;

  mayWaitFor(other: Waiter): boolean {
    for (let one: Waiter | null = other; one; one = one.#waitsFor) if (one === this) return false;
    this.#waitsFor = other;
    return true;
  }
}

/** Whether an expression uses the server's clock. Skips `$literal`, which holds values of the caller. */
function namesNow(value: unknown): boolean {
  if (value === "$$NOW") return true;
  if (Array.isArray(value)) return value.some(namesNow);
  if (value === null || typeof value !== "object" || "_bsontype" in value) return false;
  return Object.entries(value).some(([field, inner]) => field !== "$literal" && namesNow(inner));
}

/** Returns the error of a deadlock, which concerns one statement and has PostgreSQL's own code. */
function deadlock(): Document {
  return { ok: 1, n: 0, writeErrors: [{ index: 0, code: 16_948_356, errmsg: "deadlock detected" }] };
}

function refusal(code: number, codeName: string, errmsg: string): Document {
  return { ok: 0, code, codeName, errmsg };
}
