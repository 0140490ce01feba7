import { afterEach, beforeEach, describe, expect } from "vitest";
import { StorageManager, type StorageOperations } from "../../src/storage/storage-manager.js";
import type { StorageProvider } from "../../src/storage/storage-provider.js";
import { describeAccess } from "./storage-provider/access.js";
import { describeAccessChanges } from "./storage-provider/access-changes.js";
import { describeAccessLists } from "./storage-provider/access-lists.js";
import { describeAnnotations } from "./storage-provider/annotations.js";
import { describeAppends } from "./storage-provider/appends.js";
import { describeAttachmentBackups } from "./storage-provider/attachment-backups.js";
import { describeAttachments } from "./storage-provider/attachments.js";
import { describeBackups } from "./storage-provider/backups.js";
import { describeBatches } from "./storage-provider/batches.js";
import { describeBin } from "./storage-provider/bin.js";
import { describeCalls } from "./storage-provider/calls.js";
import { describeCopies } from "./storage-provider/copies.js";
import { describeCreatedSessions } from "./storage-provider/created-sessions.js";
import { describeCursors } from "./storage-provider/cursors.js";
import { describeDraftFollowing } from "./storage-provider/draft-following.js";
import { describeDrafts } from "./storage-provider/drafts.js";
import { describeEdits } from "./storage-provider/edits.js";
import { describeErasures } from "./storage-provider/erasures.js";
import { describeExpiry } from "./storage-provider/expiry.js";
import { T0 } from "./storage-provider/fixtures.js";
import { describeFollowing } from "./storage-provider/following.js";
import { describeForks } from "./storage-provider/forks.js";
import { describeLabels } from "./storage-provider/labels.js";
import { describeLists } from "./storage-provider/lists.js";
import { describeMessageEdits } from "./storage-provider/message-edits.js";
import { describeOlderMessages } from "./storage-provider/older-messages.js";
import { describeOwnerErasures } from "./storage-provider/owner-erasures.js";
import { describeQuotas } from "./storage-provider/quotas.js";
import { describeReads } from "./storage-provider/reads.js";
import { describeRestores } from "./storage-provider/restores.js";
import { describeSearches } from "./storage-provider/searches.js";
import { describeSessionFeed } from "./storage-provider/session-feed.js";
import { describeSessionLists } from "./storage-provider/session-lists.js";
import { describeSessionQueries } from "./storage-provider/session-queries.js";
import { describeSessions } from "./storage-provider/sessions.js";
import { describeSharing } from "./storage-provider/sharing.js";
import { describeSlowFollowers } from "./storage-provider/slow-followers.js";
import { describeStoredErasures } from "./storage-provider/stored-erasures.js";
import { describeStuckSessions } from "./storage-provider/stuck-sessions.js";
import type { OpenedStorage, StorageProviderHarness, StorageProviderSubject } from "./storage-provider/subject.js";
import { describeSums } from "./storage-provider/sums.js";
import { describeTexts } from "./storage-provider/texts.js";
import { describeTodos } from "./storage-provider/todos.js";
import { describeTurns } from "./storage-provider/turns.js";
import { describeUsage } from "./storage-provider/usage.js";

/** Ends a case that hangs. No case takes nearly as long, not even on a busy machine. */
const TIMEOUT_MS = 600_000;

/**
 * Describes the contract of storage-provider.ts, and what docs/api.md and docs/history.md promise about a provider.
 * Every provider must pass it unchanged.
 */
export function describeStorageProvider(name: string, harness: StorageProviderHarness): void {
  describe(`StorageProvider on ${name}`, { timeout: TIMEOUT_MS }, () => {
    describeAll(harness, (provider) => provider);
  });
}

/** The same contract through a StorageManager, which must not change anything. */
export function describeStorageManager(name: string, harness: StorageProviderHarness): void {
  describe(`StorageManager on ${name}`, { timeout: TIMEOUT_MS }, () => {
    describeAll(harness, (provider) => new StorageManager({ main: provider }));
  });
}

function describeAll(harness: StorageProviderHarness, wrap: (provider: StorageProvider) => StorageOperations): void {
  let opened: OpenedStorage;
  let providers: StorageOperations[];
  const subject: StorageProviderSubject = {
    searches: harness.searches,
    nowMicros: T0,
    get attaches() {
      return harness.attaches ?? (opened.store === undefined || opened.store().attachments !== undefined);
    },
    get stored() {
      return opened.stored;
    },
    get store() {
      return opened.store;
    },
    get provider() {
      return providers[0] as StorageOperations;
    },
    get other() {
      return providers[1] as StorageOperations;
    },
    open(options = {}) {
      const provider = wrap(opened.provider({ nowMicros: () => subject.nowMicros, ...options }));
      providers.push(provider);
      return provider;
    },
  };

  beforeEach(async () => {
    expect.hasAssertions();
    opened = await harness.open(() => subject.nowMicros / 1000);
    providers = [];
    subject.nowMicros = T0;
    subject.open();
    subject.open();
  }, TIMEOUT_MS);
  afterEach(async () => {
    for (const provider of providers) await provider.close();
    await opened.close();
  }, TIMEOUT_MS);

  describeSessions(subject);
  describeSessionLists(subject);
  describeSessionQueries(subject);
  describeLabels(subject);
  describeExpiry(subject);
  describeAppends(subject);
  describeCreatedSessions(subject);
  describeBatches(subject);
  describeBin(subject);
  describeTurns(subject);
  describeAccess(subject);
  describeAccessLists(subject);
  describeAccessChanges(subject);
  describeOlderMessages(subject);
  describeReads(subject);
  describeLists(subject);
  describeCursors(subject);
  describeEdits(subject);
  describeMessageEdits(subject);
  describeDrafts(subject);
  describeRestores(subject);
  describeForks(subject);
  describeSharing(subject);
  describeCopies(subject);
  describeSearches(subject);
  describeTexts(subject);
  describeTodos(subject);
  describeQuotas(subject);
  describeCalls(subject);
  describeStuckSessions(subject);
  describeErasures(subject);
  describeUsage(subject);
  describeSums(subject);
  describeSlowFollowers(subject);
  describeStoredErasures(subject);
  describeOwnerErasures(subject);
  describeFollowing(subject);
  describeDraftFollowing(subject);
  describeSessionFeed(subject);
  describeAttachmentBackups(subject);
  describeAttachments(subject);
  describeAnnotations(subject);
  describeBackups(subject);
}
