import { boundOwner } from "../../domain/access.js";
import type { Call } from "../../domain/call.js";
import { untilCallEnd } from "../../domain/call-end.js";
import { DomainError } from "../../domain/errors.js";
import { QUOTA_HOLDERS, type QuotaHolder, quotaName, type StoredQuota } from "../../domain/quotas.js";
import type { ByteCounts } from "./byte-counts.js";
import type { ResolvedHistoryOptions } from "./history-options.js";
import type { LogStore, SessionRecord, UsageFilter } from "./log-store.js";
import { QuotaUse } from "./quota-use.js";

/** What decides to whom a session counts. */
type Counted = Pick<SessionRecord, "owner" | "creatorKey">;

/** Someone's use, and what it is called. */
interface Holder {
  readonly kind: QuotaHolder;
  /** The owner or the name of the key; empty for the namespace. */
  readonly name: string;
  readonly quota: StoredQuota;
  readonly use: QuotaUse;
}

/**
 * Limits what each owner, each key and the namespace have stored. What they use is read from the store now and then;
 * what this process has added since is known besides. Other processes may add as much as fits meanwhile.
 */
export class Quotas {
  readonly #store: LogStore;
  readonly #options: ResolvedHistoryOptions;
  readonly #counts: ByteCounts;
  readonly #onUncounted: () => void;
  readonly #kinds: readonly QuotaHolder[];
  /** By kind and name. */
  readonly #holders = new Map<string, Holder>();
  /** The holders of the records of cached heads, because every append needs them. */
  readonly #known = {
    sessions: new WeakMap<Counted, readonly Holder[]>(),
    bytes: new WeakMap<Counted, readonly Holder[]>(),
  };

  /** `onUncounted` is called when the store has sessions whose bytes are not counted, although they should be. */
  constructor(store: LogStore, options: ResolvedHistoryOptions, counts: ByteCounts, onUncounted: () => void) {
    const { quotas } = options;
    this.#store = store;
    this.#options = options;
    this.#counts = counts;
    this.#onUncounted = onUncounted;
    this.#kinds = QUOTA_HOLDERS.filter((kind) => isLimited(quotas[kind]));
  }

  /** The key towards which a session counts that is made by a call, as a field of its record; none without quotas. */
  creatorOf(call: Call | undefined): Pick<SessionRecord, "creatorKey"> {
    const key = this.#kinds.includes("key") ? call?.key : undefined;
    return key === undefined ? {} : { creatorKey: key };
  }

  /** Makes a session with `make`, and counts it. Resolves to an error, and makes none, when a quota has no room. */
  async making(
    record: Counted,
    call: Call | undefined,
    make: () => Promise<"created" | "exists">,
  ): Promise<"created" | "exists" | DomainError> {
    const holders = this.#holdersOf(record, "sessions");
    // While one holder's use was read, another's may have grown.
    while (!holders.every(({ use, quota }) => use.hasRoom("sessions", 1, quota.sessions))) {
      for (const holder of holders) {
        const { use, quota } = holder;
        const isFree = await untilCallEnd(use.findRoom("sessions", 1, quota.sessions), call);
        if (!isFree) return refusal(holder, "sessions", "another session", call);
      }
    }
    const made = make();
    for (const { use } of holders) use.countWhile(made.then((outcome) => outcome === "created"));
    return made;
  }

  /**
   * The error by which a quota refuses to store so many more bytes in a session, besides those that are planned
   * already; null when there is room. A promise only when the store must be asked, because every append gets here.
   */
  refusalOfBytes(
    record: Counted,
    bytes: number,
    call: Call | undefined,
    planned = 0,
  ): DomainError | null | Promise<DomainError | null> {
    if (!this.#counts.isOn) return null;
    const holders = this.#holdersOf(record, "bytes");
    const nowMs = this.#options.clockMs();
    if (holders.every(({ use, quota }) => use.hasRoom("bytes", planned + bytes, quota.bytes, nowMs))) return null;
    return this.#findRefusal(holders, bytes, call, planned);
  }

  /** Throws `resource_exhausted` when a quota has no room for so many more bytes in a session. */
  async checkBytes(record: Counted, bytes: number, call: Call | undefined): Promise<void> {
    const error = await this.refusalOfBytes(record, bytes, call);
    if (error) throw error;
  }

  /** Notes that so many bytes were stored in a session, or removed from it. */
  note(record: Counted & Pick<SessionRecord, "uid">, bytes: number): void {
    this.#counts.note(record, bytes);
    if (!this.#counts.isOn) return;
    for (const { use } of this.#holdersOf(record, "bytes")) use.addBytes(bytes);
  }

  /** Notes that a session was deleted, so that nothing is refused any more because of it. */
  noteDeleted(record: Counted): void {
    for (const what of ["sessions", "bytes"] as const) {
      for (const { use } of this.#holdersOf(record, what)) use.expectLess();
    }
  }

  async #findRefusal(
    holders: readonly Holder[],
    bytes: number,
    call: Call | undefined,
    planned: number,
  ): Promise<DomainError | null> {
    for (const holder of holders) {
      const { use, quota } = holder;
      const isFree = await untilCallEnd(use.findRoom("bytes", planned + bytes, quota.bytes), call);
      if (!isFree) return refusal(holder, "bytes", `${bytes} more bytes of messages`, call);
    }
    return null;
  }

  /** Those who have a quota of this and towards whose use a session counts. */
  #holdersOf(record: Counted, what: keyof StoredQuota): readonly Holder[] {
    const known = this.#known[what].get(record);
    if (known !== undefined) return known;
    const holders: Holder[] = [];
    for (const kind of this.#kinds) {
      const name = kind === "owner" ? record.owner : kind === "key" ? record.creatorKey : "";
      const quota = this.#options.quotas[kind];
      if (name === undefined || quota?.[what] === undefined) continue;
      holders.push(this.#holderOf(kind, name, quota));
    }
    this.#known[what].set(record, holders);
    return holders;
  }

  #holderOf(kind: QuotaHolder, name: string, quota: StoredQuota): Holder {
    const id = `${kind} ${name}`;
    const known = this.#holders.get(id);
    if (known !== undefined) return known;
    if (this.#holders.size >= this.#options.maxHeads) this.#dropOldest();
    const holder = { kind, name, quota, use: this.#newUse(kind, name) };
    this.#holders.set(id, holder);
    return holder;
  }

  #newUse(kind: QuotaHolder, name: string): QuotaUse {
    const filter: UsageFilter = kind === "owner" ? { owner: name } : kind === "key" ? { key: name } : {};
    return new QuotaUse(this.#options.clockMs, async () => {
      await this.#counts.flush();
      const usage = await this.#store.usage(filter);
      if (this.#counts.isOn && usage.uncounted > 0) this.#onUncounted();
      return usage;
    });
  }

  /** From then on, records that are read get a new holder, which reads the use before anything else. */
  #dropOldest(): void {
    for (const [id, { use }] of this.#holders) {
      if (use.isMaking) continue;
      this.#holders.delete(id);
      return;
    }
  }
}

function isLimited(quota: StoredQuota | undefined): boolean {
  return quota?.sessions !== undefined || quota?.bytes !== undefined;
}

/** Names the holder to those who may know it: to callers that see the whole namespace, and to the holder. */
function refusal(
  { kind, name, quota }: Holder,
  what: keyof StoredQuota,
  more: string,
  call: Call | undefined,
): DomainError {
  const flag = quotaName(kind, what);
  const text = `${subjectOf(kind, name, call)} has no room for ${more}; --quota-${flag} allows ${quota[what]}`;
  return new DomainError("resource_exhausted", text, { quota: flag });
}

function subjectOf(kind: QuotaHolder, name: string, call: Call | undefined): string {
  if (kind === "namespace") return "The namespace";
  const seesAll = call?.access === undefined;
  if (kind === "owner") {
    const isKnown = seesAll || boundOwner(call) === name;
    return isKnown ? `The owner ${JSON.stringify(name)}` : "The owner of the session";
  }
  const isKnown = seesAll || call?.key === name;
  return isKnown ? `The key ${JSON.stringify(name)}` : "The key that made the session";
}
