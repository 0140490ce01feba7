import { afterEach, beforeEach, describe, expect } from "vitest";
import type { LogDatabase, LogStore } from "../../src/storage/history/log-store.js";
import { describeAppends } from "./log-store/appends.js";
import { describeErasures } from "./log-store/erasures.js";
import { describeNamespaces } from "./log-store/namespaces.js";
import { describeReads } from "./log-store/reads.js";
import { describeRecordLists } from "./log-store/record-lists.js";
import { describeRecords } from "./log-store/records.js";
import { describeSeals } from "./log-store/seals.js";
import { describeSweeping } from "./log-store/sweeping.js";
import { describeTexts } from "./log-store/texts.js";
import { describeTodos } from "./log-store/todos.js";

export interface LogStoreHarness {
  /** A new, empty database. The suite closes it after the case. */
  open(): Promise<LogDatabase>;
  /** Whether `append` stores all entries or none, and only directly after the last place of a log. */
  readonly atomicAppend: boolean;
  /** Moves the store's clock. Absent when nobody can. */
  advance?(ms: number): void | Promise<void>;
}

/** What a case works on. Its members may be read only inside `it`. */
export interface LogStoreSubject {
  readonly harness: LogStoreHarness;
  readonly database: LogDatabase;
  /** A handle of the namespace `default`. */
  readonly store: LogStore;
}

/** Describes the contract of log-store.ts, which every store must pass unchanged. */
export function describeLogStore(name: string, harness: LogStoreHarness): void {
  describe(`LogStore on ${name}`, () => {
    let database: LogDatabase;
    const subject: LogStoreSubject = {
      harness,
      get database() {
        return database;
      },
      get store() {
        return database.namespace("default");
      },
    };

    beforeEach(async () => {
      expect.hasAssertions();
      database = await harness.open();
    });
    afterEach(() => database.close());

    describeRecords(subject);
    describeRecordLists(subject);
    describeAppends(subject);
    describeSeals(subject);
    describeReads(subject);
    describeTexts(subject);
    describeSweeping(subject);
    describeErasures(subject);
    describeTodos(subject);
    describeNamespaces(subject);
  });
}
