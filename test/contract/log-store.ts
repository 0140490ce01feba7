import { afterEach, beforeEach, describe, expect } from "vitest";
import type { LogDatabase } from "../../src/storage/history/log-store.js";
import { describeAppends } from "./log-store/appends.js";
import { describeErasures } from "./log-store/erasures.js";
import { describeFigures } from "./log-store/figures.js";
import { describeNamespaces } from "./log-store/namespaces.js";
import { describeReads } from "./log-store/reads.js";
import { describeRecordLists } from "./log-store/record-lists.js";
import { describeRecords } from "./log-store/records.js";
import { describeSeals } from "./log-store/seals.js";
import type { LogStoreHarness, LogStoreSubject } from "./log-store/subject.js";
import { describeSweeping } from "./log-store/sweeping.js";
import { describeTexts } from "./log-store/texts.js";
import { describeTodos } from "./log-store/todos.js";

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
    describeFigures(subject);
  });
}
