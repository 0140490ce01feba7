import { setImmediate } from "node:timers/promises";
import { ownersSeen, permits } from "../../../domain/access.js";
import { type Call, checkCall } from "../../../domain/call.js";
import { DomainError } from "../../../domain/errors.js";
import { labelTexts } from "../../../domain/labels.js";
import type { SearchHit, SearchPage, SearchScope, SearchTerm } from "../../../domain/search.js";
import { findIn, holdsTerms, joinTexts } from "../../../domain/search-text.js";
import type { SearchOptions, StorageProvider } from "../../storage-provider.js";
import type { HistoryContext } from "../heads.js";
import type { Entry, FoundEntry, LogStore, SessionRecord } from "../log-store.js";
import { ownerOf } from "../record-facts.js";
import { searchedPieces } from "../searched-text.js";
import { logsOf, positionOf } from "../segments.js";
import { openSegments } from "./pieces.js";
import { type TitleQuery, TitleSearch } from "./title-search.js";
import { WindowReader } from "./window-reader.js";

/** The most entries that are examined for one page, and how many the store is asked for at a time. */
const MOST_LOOKED_AT = 2000;
const AT_ONCE = 200;
/** Each query to the store counts as at least this many examined entries, even if it finds none. */
const LEAST_COUNTED = 20;
/** How many sessions of an owner are listed before other work may run. */
const LISTED_AT_ONCE = 1000;
/** How long entries are examined before other work may run: hits may be messages of several MB. */
const SLICE_MS = 10;

/**
 * Searches messages: the store finds entries by their words, and the records tell which of them are visible messages.
 */
export class Searcher {
  readonly #context: HistoryContext;

  constructor(context: HistoryContext) {
    this.#context = context;
  }

  /** Implements {@link StorageProvider.searchMessages}. */
  async search(options: SearchOptions): Promise<SearchPage> {
    const { terms, labels, owner, sessionId, role, sinceMicros, untilMicros, limit, cursor, ...call } = options;
    const search = this.#storeSearch();
    const scope = this.#scope();
    // Whoever may see the session that a search names may search it, also with a ticket.
    const seen = sessionId === undefined ? ownersSeen(call, owner) : { owner };
    if (seen === null) return { hits: [] };
    const sessions = new SearchedSessions(this.#context, { labels, ...seen }, call);
    const only = sessionId === undefined ? undefined : await sessions.need(sessionId);
    const owners = only ? searchedOf(only, call) : await this.#owned({ labels, ...seen }, call);
    if (owners?.length === 0) return { hits: [] };
    const titles =
      role === undefined && this.#context.options.search === "all"
        ? new TitleSearch(this.#context, sessions.titles(options), only, call)
        : undefined;
    const hits: SearchHit[] = [];
    let last = cursor?.place ?? "";
    const nextFrom = (place: string) => ({ place, titles: titles?.place });
    let sliceEndsMs = performance.now() + SLICE_MS;
    for (let after = last || undefined, lookedAt = 0; ; ) {
      checkCall(call);
      const what = { terms, scope, owners, sinceMicros, untilMicros };
      const { entries, next } = await search(what, { limit: AT_ONCE, after }, call);
      for (const found of entries) {
        if (role !== undefined && found.role !== role) continue;
        if (only && found.originSessionId !== only.sessionId) continue;
        const hit = await sessions.hit(found, terms, scope);
        if (hit === null) continue;
        const newer = await titles?.newerThan(hit.timestampMicros, limit - hits.length);
        hits.push(...(newer?.hits ?? []));
        if (hits.length === limit || newer?.hasAll === false) return { hits, next: nextFrom(last) };
        hits.push(hit);
        last = found.place;
        if (performance.now() < sliceEndsMs) continue;
        await setImmediate();
        checkCall(call);
        sliceEndsMs = performance.now() + SLICE_MS;
      }
      if (next === null) {
        const others = await titles?.newerThan(-Infinity, limit - hits.length);
        hits.push(...(others?.hits ?? []));
        return { hits, next: others?.hasAll === false ? nextFrom(entries.at(-1)?.place ?? after ?? "") : undefined };
      }
      after = next;
      lookedAt += Math.max(entries.length, LEAST_COUNTED);
      if (lookedAt >= MOST_LOOKED_AT) return { hits, next: nextFrom(after) };
    }
  }

  /**
   * The uids of the sessions of one owner; undefined when all sessions are searched. The store then finds nothing of
   * others: their messages cost nothing, and no page ends or goes on at one of them. Sessions without an owner may be
   * all that there are, and only callers that see everything search them, so their records are looked at instead.
   */
  async #owned({ owner, labels }: Pick<SearchOptions, "owner" | "labels">, call: Call): Promise<string[] | undefined> {
    if (owner === undefined || owner === "") return undefined;
    const uids: string[] = [];
    for (let after: SessionRecord | undefined; ; ) {
      const filter = { parentId: "", owner, labels: labels?.slice(0, 1) };
      const page = await this.#context.store.listRecords(filter, { limit: LISTED_AT_ONCE, after }, call);
      uids.push(...page.map(({ uid }) => uid));
      if (page.length < LISTED_AT_ONCE) return uids;
      after = page.at(-1);
      await setImmediate();
      checkCall(call);
    }
  }

  /** What is searched: where a command uses an index that is there, whatever that has. */
  #scope(): SearchScope {
    const { search } = this.#context.options;
    return search === "all" || search === "existing" ? "all" : "text";
  }

  #storeSearch(): NonNullable<LogStore["searchEntries"]> {
    const { store, options } = this.#context;
    if (!options.search) {
      throw new DomainError("unimplemented", "Searching messages is off; --search turns it on");
    }
    if (store.searchEntries === undefined) {
      throw new DomainError("unimplemented", "Searching messages is not possible with this store: it has no index");
    }
    return store.searchEntries.bind(store);
  }
}

/**
 * The uids of the sessions whose logs may hold messages that were first written to this session: its own, and those of
 * the logs that it names. A session may have been copied to another one, deleted, and made again as a fork of that one.
 * The others may be sessions that a limited caller must not see, so it gets what is in the session's own logs.
 */
function searchedOf({ uid, segments }: SessionRecord, { access }: Call): string[] {
  return access ? [uid] : [...new Set([uid, ...logsOf(segments).map(ownerOf)])];
}

/** The sessions that a search may find messages of. The record of each is read once for a page. */
class SearchedSessions {
  readonly #context: HistoryContext;
  readonly #windows: WindowReader;
  readonly #labels: readonly string[];
  readonly #owner: string | undefined;
  readonly #call: Call;
  readonly #records = new Map<string, SessionRecord | null>();

  constructor(context: HistoryContext, { labels = [], owner }: Pick<SearchOptions, "labels" | "owner">, call: Call) {
    this.#context = context;
    this.#windows = new WindowReader(context);
    this.#labels = labels;
    this.#owner = owner;
    this.#call = call;
  }

  /** The record of a session, whatever its labels. */
  async need(sessionId: string): Promise<SessionRecord> {
    return await this.#context.needRecord(sessionId, this.#call);
  }

  /**
   * The hit for an entry; null unless the session that the message was first written to shows it and has the labels.
   */
  async hit(
    { log, seq, originSessionId }: FoundEntry,
    terms: readonly SearchTerm[],
    scope: SearchScope,
  ): Promise<SearchHit | null> {
    for (;;) {
      const record = await this.#recordOf(originSessionId);
      if (record === null) return null;
      const position = positionOf(openSegments(record), log, seq);
      if (position < 0) return null;
      const [entry] = (await this.#context.store.readRange(log, seq, seq, {}, this.#call)).entries;
      if (entry === undefined) return null;
      if (await this.#windows.isWhole(record, entry, this.#call))
        return hitOf(entry, record, position, { terms, scope });
      // The rest of its batch is not stored yet, or it was cut off and has been swept.
      if (await this.#context.isCurrent(record, this.#call)) return null;
      this.#records.delete(originSessionId);
    }
  }

  /** The search for titles of these sessions. */
  titles({ terms, sinceMicros, untilMicros, cursor }: SearchOptions): TitleQuery {
    const mayBeFound = (record: SessionRecord) => this.#mayBeFound(record) && permits(this.#call, record);
    const seen = { labels: this.#labels, owner: this.#owner };
    return { terms, ...seen, sinceMicros, untilMicros, after: cursor?.titles, mayBeFound };
  }

  async #recordOf(sessionId: string): Promise<SessionRecord | null> {
    let record = this.#records.get(sessionId);
    if (record === undefined) {
      const read = await this.#context.visibleRecord(sessionId, this.#call);
      record = read !== null && this.#mayBeFound(read) ? read : null;
      this.#records.set(sessionId, record);
    }
    return record;
  }

  #mayBeFound(record: SessionRecord): boolean {
    const labels = labelTexts(record.labels);
    const isOwners = this.#owner === undefined || this.#owner === (record.owner ?? "");
    return isOwners && this.#labels.every((label) => labels.includes(label));
  }
}

/** Null if the terms are only in what the index has besides what is searched. */
function hitOf(
  entry: Entry,
  record: SessionRecord,
  position: number,
  { terms, scope }: { readonly terms: readonly SearchTerm[]; readonly scope: SearchScope },
): SearchHit | null {
  const { id: messageId, role, timestampMicros, body } = entry;
  const pieces = searchedPieces(body, scope);
  const texts = pieces.map(({ text }) => text);
  const mayBeElsewhere = scope === "text" && (pieces.length < body.parts.length || body.metadata !== undefined);
  if (mayBeElsewhere && !holdsTerms(joinTexts(texts), terms)) return null;
  const { index, snippet } = findIn(texts, terms);
  const piece = index === undefined ? undefined : pieces[index];
  return {
    sessionId: record.sessionId,
    sessionTitle: record.title,
    messageId,
    role,
    timestampMicros,
    position,
    snippet,
    field: piece?.field,
    part: piece?.part,
  };
}
