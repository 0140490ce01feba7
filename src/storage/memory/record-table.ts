import { labelTexts } from "../../domain/labels.js";
import type { SessionFilter } from "../../domain/page.js";
import type {
  BinFilter,
  BinPage,
  ExpiryBounds,
  FoundRecords,
  QueryPage,
  RecordFilter,
  RecordPage,
  RecordQuery,
  SessionRecord,
  Usage,
  UsageFilter,
} from "../history/log-store.js";
import { sweepTimeOf } from "../history/record-facts.js";
import { meets } from "../history/record-queries.js";
import { type Candidates, QueryIndex } from "./query-index.js";
import { RecordOrder } from "./record-order.js";

/** The records of one namespace and the indexes to find them. */
export class RecordTable {
  readonly #byUid = new Map<string, SessionRecord>();
  readonly #living = new Map<string, SessionRecord>();
  readonly #order = new RecordOrder();
  readonly #children = new Map<string, RecordOrder>();
  /** By label, by owner, by both, and by key, as `nameOf` names them. */
  readonly #named = new Map<string, RecordOrder>();
  readonly #queries = new QueryIndex();
  /** The uids of the records with something to sweep, by the time from which they can be swept. */
  readonly #sweepable = new Map<number, Set<string>>();
  /** The counted bytes of the records that have some. */
  readonly #bytes = new Map<string, number>();
  /** The uids of the living records that name drafts. */
  readonly #drafting = new Set<string>();
  /** The uids of the tombstones whose sessions can be brought back. */
  readonly #binned = new Set<string>();
  /** Sorted on first use. */
  #uids: readonly string[] | null = null;

  get size(): number {
    return this.#byUid.size;
  }

  get(uid: string): SessionRecord | undefined {
    return this.#byUid.get(uid);
  }

  living(sessionId: string): SessionRecord | undefined {
    return this.#living.get(sessionId);
  }

  /** Adds a record, or replaces the one with its uid. */
  put(record: SessionRecord): void {
    const before = this.#byUid.get(record.uid);
    if (before === undefined) this.#uids = null;
    else this.#unlink(before);
    this.#byUid.set(record.uid, record);
    this.#link(record);
  }

  delete(uid: string): void {
    const record = this.#byUid.get(uid);
    if (record === undefined) return;
    this.#unlink(record);
    this.#byUid.delete(uid);
    this.#bytes.delete(uid);
    this.#uids = null;
  }

  bytesOf(uid: string): number | undefined {
    return this.#bytes.get(uid);
  }

  setBytes(uid: string, bytes: number): void {
    if (this.#byUid.has(uid)) this.#bytes.set(uid, bytes);
  }

  usage({ owner, key }: UsageFilter): Usage {
    const isAll = owner === undefined && key === undefined;
    const order = isAll ? this.#order : this.#named.get(nameOf({ owner, key }));
    const counts = order?.page({ limit: Number.POSITIVE_INFINITY }).map(({ uid }) => this.#bytes.get(uid)) ?? [];
    const counted = counts.filter((bytes) => bytes !== undefined);
    const bytes = counted.reduce((sum, one) => sum + one, 0);
    return { sessions: counts.length, bytes, uncounted: counts.length - counted.length };
  }

  list({ parentId, labels: [first, ...others] = [], owner }: RecordFilter, page: RecordPage): SessionRecord[] {
    if (first === undefined && owner === undefined)
      return (parentId === "" ? this.#order : this.#children.get(parentId))?.page(page) ?? [];
    const isListed = (record: SessionRecord) =>
      (parentId === "" || record.parentId === parentId) &&
      (others.length === 0 || others.every((label) => labelTexts(record.labels).includes(label)));
    return this.#named.get(nameOf({ owner, label: first }))?.page(page, isListed) ?? [];
  }

  find(query: RecordQuery, page: QueryPage): FoundRecords {
    return this.#queries.find(query, page, this.#candidates(query));
  }

  count(filter: SessionFilter, most: number): number | null {
    const { candidates, size } = this.#candidates(filter);
    if (size > most) return null;
    return [...candidates()].filter((record) => meets(record, filter)).length;
  }

  /** The living records with the smallest uids. */
  sample(limit: number): SessionRecord[] {
    const found: SessionRecord[] = [];
    for (let after = ""; found.length < limit; ) {
      const some = this.scan(after, limit);
      found.push(...some.filter(({ deleted }) => !deleted));
      if (some.length < limit) break;
      after = some.at(-1)?.uid ?? "";
    }
    return found.slice(0, limit);
  }

  /** The records that meet the rarest condition. */
  #candidates({ parentId, labels = [], owner, titleWords = [], ...times }: SessionFilter): Candidates {
    const names = labels.map((label) => nameOf({ owner, label }));
    if (owner !== undefined) names.push(nameOf({ owner }));
    const orders = [this.#order, ...names.map((name) => this.#named.get(name) ?? new RecordOrder())];
    if (parentId !== "") orders.push(this.#children.get(parentId) ?? new RecordOrder());
    const inTime = orders.map((order) => order.between(times.updatedSinceMicros, times.updatedUntilMicros));
    const newest = inTime.reduce((least, order) => (order.size < least.size ? order : least));
    const having = this.#queries.having(titleWords);
    const [first, ...others] = having;
    const rarest = first && others.reduce((least, one) => (one.size < least.size ? one : least), first);
    if (rarest && rarest.size < newest.size) return { candidates: () => rarest.values(), size: rarest.size, newest };
    return { candidates: () => newest.after(undefined, true), size: newest.size, newest };
  }

  sweepable(untilMs: number, limit: number): SessionRecord[] {
    const found: SessionRecord[] = [];
    // A sweep marks many records with the same time, so there are far fewer times than records.
    const times = [...this.#sweepable.keys()].filter((sweepMs) => sweepMs <= untilMs).sort((a, b) => a - b);
    for (const sweepMs of times) {
      for (const uid of this.#sweepable.get(sweepMs) ?? []) {
        if (found.length === limit) return found;
        found.push(this.#byUid.get(uid) as SessionRecord);
      }
    }
    return found;
  }

  /** Those that can be brought back, the last delete first. */
  binned({ owner, sessionId }: BinFilter, { limit, after }: BinPage): SessionRecord[] {
    const isListed = (record: SessionRecord) =>
      (owner === undefined || (record.owner ?? "") === owner) &&
      (sessionId === undefined || record.sessionId === sessionId) &&
      (after === undefined || byDeletion(record, after) > 0);
    return this.#inBin().filter(isListed).sort(byDeletion).slice(0, limit);
  }

  toPurge(untilMicros: number, limit: number): SessionRecord[] {
    const purgeTime = ({ bin }: SessionRecord) => bin?.purgeTimeMicros ?? 0;
    const due = this.#inBin().filter((record) => purgeTime(record) <= untilMicros);
    return due.sort((a, b) => purgeTime(a) - purgeTime(b)).slice(0, limit);
  }

  #inBin(): SessionRecord[] {
    return [...this.#binned].map((uid) => this.#byUid.get(uid) as SessionRecord);
  }

  drafting(afterUid: string, limit: number): SessionRecord[] {
    const uids = [...this.#drafting].filter((uid) => uid > afterUid).sort();
    return uids.slice(0, limit).map((uid) => this.#byUid.get(uid) as SessionRecord);
  }

  expired(
    { expireTimeMicros, updateTimeMicros = Number.NEGATIVE_INFINITY }: ExpiryBounds,
    limit: number,
  ): SessionRecord[] {
    const isExpired = (record: SessionRecord) =>
      (record.expireTimeMicros ?? Number.POSITIVE_INFINITY) <= expireTimeMicros ||
      record.updateTimeMicros <= updateTimeMicros;
    return [...this.#living.values()].filter(isExpired).slice(0, limit);
  }

  scan(afterUid: string, limit: number): SessionRecord[] {
    this.#uids ??= [...this.#byUid.keys()].sort();
    const start = firstAbove(this.#uids, afterUid);
    return this.#uids.slice(start, start + limit).map((uid) => this.#byUid.get(uid) as SessionRecord);
  }

  all(): Iterable<SessionRecord> {
    return this.#byUid.values();
  }

  #link(record: SessionRecord): void {
    const sweepMs = sweepableFrom(record);
    if (sweepMs !== null) {
      const uids = this.#sweepable.get(sweepMs);
      if (uids === undefined) this.#sweepable.set(sweepMs, new Set([record.uid]));
      else uids.add(record.uid);
    }
    if (record.bin !== undefined) this.#binned.add(record.uid);
    if (record.deleted) return;
    this.#living.set(record.sessionId, record);
    this.#order.add(record);
    this.#queries.add(record);
    if (record.drafts.length > 0) this.#drafting.add(record.uid);
    if (record.parentId !== "") addTo(this.#children, record.parentId, record);
    for (const name of namesOf(record)) addTo(this.#named, name, record);
  }

  #unlink(record: SessionRecord): void {
    const sweepMs = sweepableFrom(record);
    if (sweepMs !== null) {
      const uids = this.#sweepable.get(sweepMs);
      uids?.delete(record.uid);
      if (uids?.size === 0) this.#sweepable.delete(sweepMs);
    }
    this.#binned.delete(record.uid);
    if (record.deleted) return;
    this.#living.delete(record.sessionId);
    this.#drafting.delete(record.uid);
    this.#order.remove(record);
    this.#queries.remove(record);
    if (record.parentId !== "") removeFrom(this.#children, record.parentId, record);
    for (const name of namesOf(record)) removeFrom(this.#named, name, record);
  }
}

/** The last delete first. */
function byDeletion(a: SessionRecord, b: SessionRecord | NonNullable<BinPage["after"]>): number {
  const time = "bin" in b || "uid" in b ? (b.bin?.deleteTimeMicros ?? 0) : b.deleteTimeMicros;
  const later = time - (a.bin?.deleteTimeMicros ?? 0);
  return later || (a.sessionId > b.sessionId ? -1 : a.sessionId < b.sessionId ? 1 : 0);
}

/** The time from which a sweep has work with a record; null when it has none. */
function sweepableFrom(record: SessionRecord): number | null {
  // Rule: sweep-unforked-only.
  return record.forks > 0 ? null : sweepTimeOf(record);
}

/** The orders that a record belongs to. */
function namesOf({ owner = "", creatorKey: key, labels }: SessionRecord): readonly string[] {
  const texts = labelTexts(labels);
  const byLabel = texts.flatMap((label) => [nameOf({ label }), nameOf({ owner, label })]);
  return [nameOf({ owner }), ...(key === undefined ? [] : [nameOf({ key })]), ...byLabel];
}

interface OrderName {
  readonly owner?: string | undefined;
  readonly label?: string | undefined;
  readonly key?: string | undefined;
}

/** Names the order of the records with this owner, this label, or both, or with this key. Texts may hold anything. */
function nameOf({ owner, label, key }: OrderName): string {
  return JSON.stringify([owner ?? null, label ?? null, key ?? null]);
}

function addTo(orders: Map<string, RecordOrder>, name: string, record: SessionRecord): void {
  let order = orders.get(name);
  if (order === undefined) {
    order = new RecordOrder();
    orders.set(name, order);
  }
  order.add(record);
}

function removeFrom(orders: Map<string, RecordOrder>, name: string, record: SessionRecord): void {
  const order = orders.get(name);
  order?.remove(record);
  if (order?.size === 0) orders.delete(name);
}

function firstAbove(sorted: readonly string[], value: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((sorted[middle] as string) <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}
