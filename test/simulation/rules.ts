import type { BreakableRule } from "../support/broken-rules.js";

const HISTORY = "src/storage/history";
const WRITER = `${HISTORY}/write/record-writer.ts`;
const SEALED_DRAFTS = `${HISTORY}/drafts/sealed-drafts.ts`;
const REPLACER = `${HISTORY}/write/record-replacer.ts`;
const BIN = `${HISTORY}/edit/bin.ts`;
const BRANCHER = `${HISTORY}/edit/brancher.ts`;
const COPIER = `${HISTORY}/edit/copier.ts`;
const USAGE_COUNTER = `${HISTORY}/usage-counter.ts`;
const TURN = `${HISTORY}/append/append-turn.ts`;
const PLAN = `${HISTORY}/append/append-plan.ts`;
const DRAFT_WRITER = `${HISTORY}/drafts/draft-writer.ts`;
const WINDOWS = `${HISTORY}/read/window-reader.ts`;
const NEW_RECORD = `${HISTORY}/edit/new-record.ts`;
const ERASER = `${HISTORY}/erase/eraser.ts`;
const OWNER_ERASER = `${HISTORY}/erase/owner-eraser.ts`;
const EDITOR = `${HISTORY}/edit/editor.ts`;
const HEADS = `${HISTORY}/heads.ts`;
const FORK_COUNTS = `${HISTORY}/edit/fork-counts.ts`;
const FOLLOWERS = `${HISTORY}/follow/followers.ts`;
const PIECES = `${HISTORY}/read/pieces.ts`;
const SWEEPER = `${HISTORY}/sweeper.ts`;
const REMOVAL = `${HISTORY}/attachments/attachment-removal.ts`;
const FEED = `${HISTORY}/feed`;
const SIM_FEED = "test/simulation/sim-feed.ts";
const DATABASE = "test/simulation/sim-database.ts";
const STORE = "test/simulation/sim-store.ts";
const ATOMIC_STORE = "test/simulation/atomic-sim-store.ts";
const WEAK_STORE = "test/simulation/weak-sim-store.ts";

/**
 * How each of the rules in docs/history.md is broken to show that it is needed. Rules that stores keep are broken in
 * the simulated stores.
 */
export const BREAKABLE_RULES: readonly BreakableRule[] = [
  rule(
    "seal-before-edit",
    WRITER,
    'const end = await this.#context.store.seal(record.log, head.state === "unfinished" ? undefined : head.seq, call);',
    'const end: number | "unnamed" = head.seq;',
  ),
  rule("plan-on-sealed", WRITER, "return end === head.seq;", "return true;"),
  rule(
    "rollover-seals",
    WRITER,
    "const end = await this.#context.store.seal(record.log, undefined, call);",
    'const end: number | "unnamed" = head.seq;',
  ),
  rule(
    "wait-for-editor",
    `${HISTORY}/write/editor-wait.ts`,
    "if (await this.#changesWithin(head, waitMs, call)) return;",
    "",
  ),
  rule("compare-and-set", DATABASE, "if (current?.revision !== ifRevision) return null;", "if (!current) return null;"),
  rule(
    "tail-first-gap",
    STORE,
    "const seq = last?.seq ?? 0;",
    "const seq = rows.at(-1)?.entry === null ? (rows.at(-1) as Row).seq - 1 : (last?.seq ?? 0);",
  ),
  rule("append-clears-undo", `${HISTORY}/undo.ts`, "return seq > 0 ? null : record.undo;", "return record.undo;"),
  rule(
    "rollover-clears-undo",
    WRITER,
    "undo: undoAt(record, head.seq),\n      drafts: await this.#draftsAfter(head, [], call),\n      rollovers",
    "undo: record.undo,\n      drafts: await this.#draftsAfter(head, [], call),\n      rollovers",
  ),

  rule(
    "one-edit-one-event",
    `${HISTORY}/follow/follow-step.ts`,
    "const single = since?.length === 1 && kept < at.position ? since[0]?.single : undefined;",
    "const single = since?.at(-1)?.single;",
  ),

  rule(
    "dropped-when-taken-back:waiting",
    `${HISTORY}/follow/event-queue.ts`,
    "if (takesBack && this.#events.length > 0) {",
    "if (takesBack && this.#events.length < 0) {",
  ),
  rule("dropped-when-taken-back:catching-up", FOLLOWERS, "if (tail.takenBack !== takenBack) break;", ""),

  rule(
    "named-logs-only:draft",
    `${HISTORY}/drafts/draft-list.ts`,
    "return this.#replacer.replace(record, { ...nextOf(record), drafts: [...record.drafts, ref] }, call);",
    "return Promise.resolve({ ...record, drafts: [...record.drafts, ref] });",
  ),
  rule("named-logs-only:store", ATOMIC_STORE, 'if (!this.db.names(log)) return "unnamed";', ""),
  rule(
    "head-dated-before:new-session",
    BRANCHER,
    "return this.#newHead(full, atMs);",
    "return this.#newHead(full, this.#context.knownMs());",
  ),
  rule(
    "head-dated-before:append",
    TURN,
    "endAfter(head, entries, atMs);",
    "endAfter(head, entries, this.#context.knownMs());",
  ),
  rule(
    "look-up-in-segments:appends",
    PLAN,
    "const hasSegments = end.record.segments.length > 0;",
    "const hasSegments = false;",
  ),
  rule(
    "look-up-in-segments:older",
    TURN,
    "const known = await this.#lookUp(now, idsOf(job), call);",
    "const known = NOTHING_KNOWN;",
  ),
  rule(
    "look-up-in-segments:copy",
    `${HISTORY}/edit/missing-messages.ts`,
    "const found = await placesOf(this.#context, added, [...this.ids, ...moved], call);",
    "const found = new Map<string, Place>();",
  ),
  rule(
    "repeated-id-ignores-position",
    PLAN,
    "if (fresh.length === 0) return",
    "if (fresh.length === 0 && expectedPosition === undefined) return",
  ),
  rule("refusals-re-read", TURN, 'if (plan.kind !== "write" && !isCertain) return { plans, isStale: true };', ""),
  rule(
    "cut-batch-goes-on",
    TURN,
    "const done = wholePlans(plans, stored);",
    "const done = stored < entries.length ? 0 : plans.length;",
  ),
  rule(
    "whole-batches-only:message",
    WINDOWS,
    "if (entry.remaining === 0 || entry.log !== record.log) return true;",
    "return true;",
  ),
  rule("whole-batches-only:page", WINDOWS, "if (!last || last.remaining === 0) return entries;", "return entries;"),
  rule(
    "whole-batches-only:end",
    STORE,
    "const last = messages.findLast((row) => isAtomic || row.entry?.remaining === 0)?.entry;",
    "const last = messages.at(-1)?.entry;",
  ),
  rule(
    "commit-while-named",
    `${HISTORY}/write/side-logs.ts`,
    "if (!now || !namesLog(now.record, log)) return null;",
    "if (!now) return null;",
  ),
  rule(
    "token-by-id",
    WINDOWS,
    "const located = (await locate(this.#context, group, [cursor.messageId], call)).get(cursor.messageId);",
    "const located = undefined as { readonly position: number } | undefined;",
  ),
  rule(
    "update-time-with-append",
    ATOMIC_STORE,
    "this.db.touchOwner(log);",
    "this.steps.leave([() => [this.db.touchOwner(log)].length > 0]);",
  ),
  rule(
    "sums-with-entries:read",
    USAGE_COUNTER,
    "const counter = new UsageCounter(usageSums ?? ends?.last);",
    "const counter = new UsageCounter(usageSums);",
  ),
  rule(
    "sums-with-entries:known",
    HEADS,
    "const isSame = before.record.log === head.record.log && before.seq === head.seq;",
    "const isSame = before.record.log === head.record.log;",
  ),

  rule(
    "verdict-by-place",
    DRAFT_WRITER,
    "const stored = await this.#context.append(record, ref.log, entry.seq, [entry], call);",
    "const stored = Number(await this.#context.append(record, ref.log, entry.seq, [entry], call)) || 1;",
  ),
  rule(
    "draft-appended-once",
    PLAN,
    "if (draftLog !== undefined && !open.some(({ log }) => log === draftLog)) return new DraftEnded();",
    "",
  ),
  rule(
    "seal-ends-drafts",
    SEALED_DRAFTS,
    "const found = seq === 0 ? [] : await context.store.findById([record.log], ids, call);",
    "const found: { readonly seq: number; readonly id: string }[] = [];",
  ),
  rule(
    "taken-draft-renamed",
    PLAN,
    "const isTaken = entry !== undefined && !isErased(entry.body) && !isSame(entry, own.message);",
    "const isTaken = false;",
  ),
  rule(
    "abandoned-by-own-watch",
    `${HISTORY}/drafts/abandoned-drafts.ts`,
    "const isAbandoned = nowMs - since.sinceMs >= draftTimeoutMs;",
    "const isAbandoned = this.#context.options.nowMicros() - (last?.timestampMicros ?? 0) >= 1000 * draftTimeoutMs;",
  ),

  rule(
    "raise-before-child",
    BRANCHER,
    "const source = await this.#counts.loadRaised(sourceId, call);",
    "const source = await this.#context.load(sourceId, call);",
  ),
  rule(
    "raise-before-child:restore",
    `${HISTORY}/transfer/owners.ts`,
    "const owner = await this.#context.store.raiseForks(ownerId);",
    `const owner = await this.#context.store.readRecord(ownerId);
     if (owner) await this.#context.store.addFork(owner.uid, 1);`,
  ),
  rule(
    "raise-before-child:fork",
    BRANCHER,
    "const source = await this.#counts.loadRaised(sourceId, call);",
    `const source = await this.#context.load(sourceId, call);
     if (source) await this.#context.store.addFork(source.record.uid, 1);`,
  ),
  rule(
    "repeated-create-unknown",
    WEAK_STORE,
    "const blocked = await untilKnown(block);",
    `const blocked = await untilKnown(() => super.createRecord(record, call));
     if (blocked.answer === "exists") return "exists";`,
  ),
  rule("late-create-unknown", WEAK_STORE, "if (this.latestMs - sentAtMs > this.#lateMs) throw unavailable();", ""),
  rule("forks-apart", DATABASE, "forks: current.forks,", "forks: 0,"),
  rule("lower-unforked-only", REPLACER, "if (stored.forks > 0) return stored;", ""),
  rule(
    "lower-unnamed-only",
    REPLACER,
    "if (namedSegments(stored).some((segment) => ownerOf(segment.log) !== stored.uid)) return stored;",
    "",
  ),
  rule("lower-once", SWEEPER, "if (isOurs) {", "{"),
  rule("ancestry-bounded", NEW_RECORD, "if (bytes <= maxAncestryBytes) return all;", "if (bytes > 0) return all;"),

  rule(
    "restoring-ended-first",
    SWEEPER,
    "const ended =\n      markedAtMs === null ?",
    "if (markedAtMs !== null) await this.#sweepTombstone(record, call);\n    const ended =\n      markedAtMs === null ?",
  ),

  rule(
    "erase-ends-copies:copier",
    COPIER,
    "const entries = await readSegments(this.#context, wanted.segments, call);",
    "const entries = known;",
  ),
  rule(
    "erase-ends-copies:update",
    `${HISTORY}/edit/message-editor.ts`,
    "if (side.record.revision !== head.record.revision + 1) {",
    "if (Number.isNaN(seq)) {",
  ),
  rule(
    "erase-ends-copies:annotation",
    `${HISTORY}/annotations/annotations.ts`,
    "if (instead !== undefined && !(await this.#isStill(instead, call))) return null;",
    "",
  ),
  rule(
    "erase-ends-copies:annotations",
    `${HISTORY}/annotations/merge-annotations.ts`,
    "const layers = await readLayers();",
    "const layers = known;",
  ),
  rule(
    "erase-ends-copies:eraser",
    ERASER,
    "if ((await marks.endCopies(record, options)) && round < 3) isChanged = true;",
    "",
  ),
  rule(
    "erase-until-clean",
    ERASER,
    "while (await this.#round(erasure, round)) round++;",
    "await this.#round(erasure, round);",
  ),
  rule(
    "erase-ends-copies:owner",
    OWNER_ERASER,
    "if ((await marks.endCopies(record, options)) && round < 3) isChanged = true;",
    "",
  ),
  rule(
    "erase-until-clean:owner",
    OWNER_ERASER,
    "if (!(await this.#eraseCopies(erasure, round))) break;",
    "await this.#eraseCopies(erasure, round); break;",
  ),

  rule("access-by-the-record:head", HEADS, "if (!permits(call, record)) return null;", ""),
  rule(
    "access-by-the-record:record",
    HEADS,
    "return record !== null && !this.isExpired(record) && permits(call, record) ? record : null;",
    "return record !== null && !this.isExpired(record) ? record : null;",
  ),
  rule(
    "access-by-the-record:newest",
    HEADS,
    'if (!permits(call, found.record)) throw notFound("Session", sessionId);',
    "",
  ),
  rule(
    "access-by-the-record:source",
    FORK_COUNTS,
    "if (this.#context.isExpired(record) || !permits(call, record)) {",
    "if (this.#context.isExpired(record)) {",
  ),
  rule(
    "access-by-the-record:existing",
    BRANCHER,
    "if (permits(call, existing.record) && isRetry(existing)) return existing;",
    "if (isRetry(existing)) return existing;",
  ),
  rule(
    "access-by-the-record:fields",
    `${HISTORY}/write/side-logs.ts`,
    "return (await this.#change(seen, call, (now) => (permits(call, now) ? change(now) : null))) !== null;",
    "return (await this.#change(seen, call, change)) !== null;",
  ),
  rule("access-by-the-record:follower", FOLLOWERS, "checkMayFollow(tail, sessionId, call);\n        return", "return"),
  rule(
    "remembered-admits-owners:ticket",
    "src/domain/access.ts",
    'return access === undefined || ("owner" in access && session.owner === access.owner);',
    "return access === undefined || permits(call, session);",
  ),
  rule(
    "remembered-admits-owners:draft",
    `${HISTORY}/drafts/draft-finder.ts`,
    "if (!permitsRemembered(call, found.record)) return null;",
    "",
  ),
  rule(
    "remembered-admits-owners:append",
    `${HISTORY}/append/append-job.ts`,
    "return this.#jobs.every(({ call }) => permitsRemembered(call, record));",
    'return record.sessionId !== "";',
  ),
  rule(
    "appends-admitted-singly:turn",
    TURN,
    "if (state.isFresh && !this.#jobs.dropForeign(head.record)) return state;",
    "",
  ),
  rule("appends-admitted-singly:older", TURN, "this.#jobs.dropForeign(now.record);", ""),
  rule(
    "owner-change-ends-access:drafts",
    EDITOR,
    "if (!isSameOwner || this.#context.isExpired(updated.record)) {",
    "if (this.#context.isExpired(updated.record)) {",
  ),
  rule(
    "owner-change-ends-access:tickets",
    EDITOR,
    "...(!isSameOwner && { owner: owner || undefined, ticketGeneration: (record.ticketGeneration ?? 0) + 1 }),",
    "...(!isSameOwner && { owner: owner || undefined }),",
  ),
  rule(
    "owner-change-ends-access:log",
    EDITOR,
    "const updated =\n        isSameExpiry && isSameOwner",
    "const updated =\n        isSameExpiry",
  ),
  rule(
    "followers-ask-again:tail",
    `${HISTORY}/follow/session-tail.ts`,
    "if (before && !isVisibleToSame(before, head.record)) this.#dropWaiting();",
    "",
  ),
  rule("followers-ask-again:follower", FOLLOWERS, "checkMayFollow(tail, reached.head.record.sessionId, call);", ""),
  rule(
    "hidden-not-written",
    FORK_COUNTS,
    "if (call?.access !== undefined && !(await this.#context.visibleRecord(sessionId, call))) return null;",
    "",
  ),
  rule(
    "ancestors-until-hidden:uid",
    PIECES,
    "return (await context.visibleRecord(sessionId, call))?.uid === (uid ?? ownerOf(log));",
    "return (await context.visibleRecord(sessionId, call)) !== null || [uid, log].length === 0;",
  ),
  rule(
    "ancestors-until-hidden:order",
    PIECES,
    "return areVisible.lastIndexOf(false) + 1;",
    "return areVisible.indexOf(true);",
  ),

  rule(
    "doomed-then-sealed:writer",
    "src/storage/memory/memory-attachment-table.ts",
    'return [...this.#memory.of(uid)].find(({ attachmentId, state }) => attachmentId === id && state === "stored");',
    'return [...this.#memory.of(uid)].find(({ attachmentId, state }) => attachmentId === id && state !== "arriving");',
  ),
  rule(
    "doomed-then-sealed:doom",
    REMOVAL,
    'await this.#context.attachments.change(log, { seenMs: 0, state: "doomed" }, call);',
    "await this.#context.attachments.change(log, { seenMs: 0 }, call);",
  ),
  rule("doomed-then-sealed:log", REMOVAL, "await this.#replaceLog(attachment.uid, call);", ""),
  rule("doomed-then-sealed:draft", REMOVAL, "if (await this.#mayGrow(attachment.uid, call)) return false;", ""),
  rule(
    "doomed-then-sealed:erased",
    REMOVAL,
    "sealed ??= await this.#sealShowing(shows, call);",
    "sealed ??= new Set();",
  ),
  rule("named-sources-stay", REPLACER, "if (foreign !== undefined) return stored;", ""),

  rule(
    "undelete-if-free",
    BIN,
    "const stored = await bin.revive(next, record.revision, call);",
    "const stored = await this.#context.store.replaceRecord(next, record.revision, call);",
  ),
  rule("binned-not-swept", `${HISTORY}/record-facts.ts`, "if (record.bin !== undefined) return null;", ""),
  rule(
    "bin-emptied-first",
    SWEEPER,
    "const next = { ...tombstoneOf(nextOf(record)), revision: record.revision + 1 };",
    "const next = tombstoneOf(nextOf(record));",
  ),
  rule(
    "expiry-reaches-the-bin:time",
    BIN,
    "const end = Math.min(expireTimeMicros, Math.floor(this.#context.retentionEndMicros(record)));",
    "const end = expireTimeMicros * Number.POSITIVE_INFINITY;",
  ),
  rule(
    "expiry-reaches-the-bin:return",
    BIN,
    "return (record.bin?.purgeTimeMicros ?? 0) > nowMicros && !this.#context.isExpired(record);",
    "return (record.bin?.purgeTimeMicros ?? 0) > nowMicros;",
  ),
  rule(
    "erased-leaves-the-bin",
    OWNER_ERASER,
    "if (record.bin) await replacer.replace(record, tombstoneOf(nextOf(record)), options);",
    "if (record.bin) return record;",
  ),
  rule("tickets-stay-ended", WRITER, "ticketGeneration: (record.ticketGeneration ?? 0) + 1,", ""),
  rule(
    "access-by-the-record:deleted",
    BIN,
    "const found = page.find((record) => this.#canReturn(record, nowMicros) && permits(call, record));",
    "const found = page.find((record) => this.#canReturn(record, nowMicros));",
  ),

  rule("sweep-unforked-only", DATABASE, ".filter((record) => record.forks === 0)", ""),
  rule("sweep-old-only:data", SWEEPER, "const ageMs = own.sweepAgeMs;", "const ageMs = 0;"),
  rule(
    "sweep-old-only:drafts",
    `${HISTORY}/drafts/draft-sweep.ts`,
    "record.drafts.filter(isOld);",
    "record.drafts.filter((draft) => !isOpenDraft(draft));",
  ),
  rule(
    "sweep-store-clock:age",
    SWEEPER,
    "const untilMs = (await store.timeMs(options)) - ageMs;",
    "const untilMs = own.nowMicros() / 1000 - ageMs;",
  ),
  rule(
    "sweep-store-clock:store",
    STORE,
    'return this.request(call, "timeMs", [], () => this.db.timeMs());',
    'return this.request(call, "timeMs", [], () => this.steps.wallMs());',
  ),
  rule("entries-after-record", SWEEPER, "await this.#deleteAll({ uid }, call);\n    } finally {", "} finally {"),
  rule(
    "orphans-deleted",
    `${HISTORY}/write/orphans.ts`,
    "const lost = record === null ? { uid } : isLost && besideOpen;",
    "const lost = null;",
  ),
  rule(
    "late-append-reached:draft",
    DRAFT_WRITER,
    "if (this.#context.isOld(draft.atMs)) await this.#checkReached(draft, call);",
    "",
  ),
  rule("late-append-reached:message", TURN, "return this.#context.isOld(head.atMs);", "return false;"),
  rule("late-reader-restarts:head", HEADS, "if (isPast) {", "if (isPast && Number.isNaN(atMs)) {"),
  rule(
    "late-reader-restarts:read",
    `${HISTORY}/read/reader.ts`,
    "const isLate = () => this.#context.isOld(atMs);",
    "const isLate = () => false;",
  ),
  rule(
    "late-reader-restarts:backup",
    `${HISTORY}/transfer/snapshots.ts`,
    "if (this.#context.isOld(snapshot.atMs)) {",
    "if (false) {",
  ),
  rule("negative-answers-checked", HEADS, "if (!(await this.isCurrent(record, call))) throw new Again();", ""),

  rule(
    "place-with-change",
    SIM_FEED,
    "const place = this.#place ?? ++this.#last;",
    "const place = known?.place ?? this.#place ?? ++this.#last;",
  ),
  rule(
    "departure-with-change",
    SIM_FEED,
    "if (kind !== null) this.#departures.push({ kind, place, uid, sessionId, past: pastOf(before as SessionRecord) });",
    "",
  ),
  rule(
    "read-before-open",
    SIM_FEED,
    "const end = Math.min(this.#last + 1, ...this.#open.keys());",
    "const end = this.#last + 1;",
  ),
  rule(
    "heard-before-or-after",
    `${FEED}/told-change.ts`,
    "if (!held(selection, change.uid, change.past, digest)) return null;",
    "if (now === null || !holds(selection, now.record)) return null;",
  ),
  rule(
    "successor-told-after",
    `${FEED}/session-states.ts`,
    "const isTold = now === undefined || (placeOf.get(now.record.uid) ?? 0) > place;",
    "const isTold = true;",
  ),
  rule(
    "settled-before-untold",
    `${FEED}/feed-tail.ts`,
    "const place = Math.min(told, first === null ? Number.POSITIVE_INFINITY : first - 1);",
    "const place = told;",
  ),
  rule(
    "attached-before-read",
    `${FEED}/feed-readers.ts`,
    "const queue = attach();",
    `let late: FeedQueue | undefined;
     const queue = {
       check() {},
       taken() {},
       isStale: false,
       isEmpty: true,
       next: (ms: number) => (late ??= attach()).next(ms),
     };`,
  ),
];

function rule(name: string, file: string, statement: string, broken: string): BreakableRule {
  return { name, file, statement, broken };
}
