import { afterEach, beforeEach, describe, expect } from "vitest";
import type { LogDatabase } from "../../src/storage/history/log-store.js";
import { describeAppends } from "./log-store/appends.js";
import { describeAttachmentNamings } from "./log-store/attachment-namings.js";
import { describeAttachmentUploads } from "./log-store/attachment-uploads.js";
import { describeAttachments } from "./log-store/attachments.js";
import { describeBin } from "./log-store/bin.js";
import { describeConnections } from "./log-store/connections.js";
import { describeCosts } from "./log-store/costs.js";
import { describeCounts } from "./log-store/counts.js";
import { describeErasures } from "./log-store/erasures.js";
import { describeFeed } from "./log-store/feed.js";
import { describeFigures } from "./log-store/figures.js";
import { describeNamespaces } from "./log-store/namespaces.js";
import { describeNewest } from "./log-store/newest.js";
import { describeReads } from "./log-store/reads.js";
import { describeRecordLists } from "./log-store/record-lists.js";
import { describeRecordQueries } from "./log-store/record-queries.js";
import { describeRecords } from "./log-store/records.js";
import { describeRegisters } from "./log-store/registers.js";
import { describeSeals } from "./log-store/seals.js";
import type { LogStoreHarness, LogStoreSubject } from "./log-store/subject.js";
import { describeSweeping } from "./log-store/sweeping.js";
import { describeTexts } from "./log-store/texts.js";
import { describeTodos } from "./log-store/todos.js";
import { describeUsage } from "./log-store/usage.js";

/** Ends a case that hangs. No case takes nearly as long, not even on a busy machine. */
const TIMEOUT_MS = 600_000;

/** Describes the contract of log-store.ts, which every store must pass unchanged. */
export function describeLogStore(name: string, harness: LogStoreHarness): void {
  describe(`LogStore on ${name}`, { timeout: TIMEOUT_MS }, () => {
    let databases: LogDatabase[];
    let nowMs: number;
    const now = () => nowMs;
    const subject: LogStoreSubject = {
      harness,
      get database() {
        return databases[0] as LogDatabase;
      },
      get store() {
        return subject.database.namespace("default");
      },
      async openTogether(count) {
        const opened = (await harness.openTogether?.(count, now)) ?? [];
        databases.push(...opened);
        return opened;
      },
      advance(ms) {
        nowMs += ms;
      },
    };

    beforeEach(async () => {
      expect.hasAssertions();
      nowMs = Date.now();
      databases = [];
      databases.push(await harness.open(now));
    }, TIMEOUT_MS);
    afterEach(async () => {
      // A harness may throw a database away with the first of its connections, which is therefore closed last.
      for (const database of databases.toReversed()) await database.close();
    }, TIMEOUT_MS);

    describeRecords(subject);
    describeRecordLists(subject);
    describeBin(subject);
    describeRecordQueries(subject);
    describeCounts(subject);
    describeAppends(subject);
    describeSeals(subject);
    describeReads(subject);
    describeNewest(subject);
    describeTexts(subject);
    describeSweeping(subject);
    describeFeed(subject);
    describeErasures(subject);
    describeUsage(subject);
    describeAttachmentUploads(subject);
    describeAttachments(subject);
    describeAttachmentNamings(subject);
    describeTodos(subject);
    describeNamespaces(subject);
    describeRegisters(subject);
    describeFigures(subject);
    describeConnections(subject);
    describeCosts(subject);
  });
}
