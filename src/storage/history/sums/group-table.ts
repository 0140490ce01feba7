import { setImmediate } from "node:timers/promises";
import { costUnits, type Usage } from "../../../domain/usage.js";
import { compareValues, type GroupValues, MOST_DURATIONS, type UsageRow } from "../../../domain/usage-groups.js";
import { Durations } from "./durations.js";

/** What a group and one of its texts or currencies take, roughly. */
const GROUP_BYTES = 600;
const TEXT_BYTES = 40;
const CURRENCY_BYTES = 120;
/** How many rows are made before other work may run. */
const ROWS_AT_ONCE = 2000;

/** The sums of one group, so far. */
export class Group {
  readonly values: GroupValues;
  calls = 0;
  failedCalls = 0;
  inputTokens = 0;
  outputTokens = 0;
  cachedInputTokens = 0;
  reasoningTokens = 0;
  durationMicros = 0;
  readonly costs = new Map<string, bigint>();
  /** Null once there were too many. */
  durations: Durations | null = new Durations();

  constructor(values: GroupValues) {
    this.values = values;
  }

  /** Adds a usage; returns how many bytes more the group takes. */
  add(usage: Usage): number {
    this.calls++;
    this.inputTokens += usage.inputTokens ?? 0;
    this.outputTokens += usage.outputTokens ?? 0;
    this.cachedInputTokens += usage.cachedInputTokens ?? 0;
    this.reasoningTokens += usage.reasoningTokens ?? 0;
    const { cost, currency, durationMicros } = usage;
    let bytes = 0;
    if (cost !== undefined && currency !== undefined) bytes += this.#addCost(currency, costUnits(cost));
    if (durationMicros !== undefined) {
      this.durationMicros += durationMicros;
      bytes += this.#addDuration(durationMicros);
    }
    return bytes;
  }

  addAll(other: Group): number {
    this.calls += other.calls;
    this.failedCalls += other.failedCalls;
    this.inputTokens += other.inputTokens;
    this.outputTokens += other.outputTokens;
    this.cachedInputTokens += other.cachedInputTokens;
    this.reasoningTokens += other.reasoningTokens;
    this.durationMicros += other.durationMicros;
    let bytes = 0;
    for (const [currency, units] of other.costs) bytes += this.#addCost(currency, units);
    if (other.durations === null) this.durations = null;
    if (this.durations === null || other.durations === null) return bytes;
    bytes += this.durations.addAll(other.durations);
    if (this.durations.count > MOST_DURATIONS) this.durations = null;
    return bytes;
  }

  async row(): Promise<UsageRow> {
    const { values, calls, failedCalls, durationMicros, durations } = this;
    const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = this;
    return {
      ...{ values, calls, failedCalls, inputTokens, outputTokens, cachedInputTokens, reasoningTokens, durationMicros },
      costs: new Map([...this.costs].filter(([, units]) => units !== 0n)),
      durationP50Micros: await durations?.percentile(50),
      durationP95Micros: await durations?.percentile(95),
    };
  }

  #addCost(currency: string, units: bigint): number {
    const sum = this.costs.get(currency);
    this.costs.set(currency, (sum ?? 0n) + units);
    return sum === undefined ? CURRENCY_BYTES : 0;
  }

  #addDuration(micros: number): number {
    if (this.durations === null) return 0;
    if (this.durations.count === MOST_DURATIONS) {
      this.durations = null;
      return 0;
    }
    return this.durations.add(micros);
  }
}

/**
 * Groups by their values, in bounded memory: when they take too much, those that come last in the order are given up,
 * and everything that would belong to them is ignored from then on. What is left is complete.
 */
export class GroupTable {
  readonly #maxBytes: number;
  readonly #after: GroupValues | undefined;
  readonly #groups = new Map<string, Group>();
  /** Only groups up to this one are complete. */
  #upTo: GroupValues | undefined;
  #bytes = 0;

  /** `after`: the table ignores the groups up to this one. */
  constructor(maxBytes: number, after?: GroupValues) {
    this.#maxBytes = maxBytes;
    this.#after = after;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether groups that come after all others were given up. */
  get isCut(): boolean {
    return this.#upTo !== undefined;
  }

  get size(): number {
    return this.#groups.size;
  }

  /** Whether the table ignores every group whose first value is this. */
  ignoresAll(first: string | null): boolean {
    const [after] = this.#after ?? [];
    if (after !== undefined && compareValues([first], [after]) < 0) return true;
    const [upTo] = this.#upTo ?? [];
    return upTo !== undefined && compareValues([first], [upTo]) > 0;
  }

  /** The group with these values, which is made if there is none; null for one that the table ignores. */
  group(values: GroupValues): Group | null {
    const key = JSON.stringify(values);
    const known = this.#groups.get(key);
    if (known !== undefined) return known;
    if (this.#ignores(values)) return null;
    const group = new Group(values);
    this.#groups.set(key, group);
    this.#bytes += GROUP_BYTES + 2 * key.length + TEXT_BYTES * values.length;
    return group;
  }

  /** Notes that groups have grown, and gives some up if that is too much. */
  grow(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#maxBytes) this.#giveUp();
  }

  /** Adds what another table has. */
  addAll(others: GroupTable): void {
    if (others.#upTo !== undefined) this.#cut(others.#upTo);
    for (const other of others.#groups.values()) {
      const group = this.group(other.values);
      if (group !== null) this.grow(group.addAll(other));
    }
  }

  /** The rows of all groups, in order. */
  async rows(): Promise<UsageRow[]> {
    const rows: UsageRow[] = [];
    for (const group of this.#inOrder()) {
      if (rows.length % ROWS_AT_ONCE === ROWS_AT_ONCE - 1) await setImmediate();
      rows.push(await group.row());
    }
    return rows;
  }

  #ignores(values: GroupValues): boolean {
    if (this.#after !== undefined && compareValues(values, this.#after) <= 0) return true;
    return this.#upTo !== undefined && compareValues(values, this.#upTo) > 0;
  }

  #inOrder(): Group[] {
    return [...this.#groups.values()].sort((a, b) => compareValues(a.values, b.values));
  }

  /** Keeps the first half of the groups, and at least one. */
  #giveUp(): void {
    if (this.#groups.size < 2) return;
    const last = this.#inOrder()[(this.#groups.size >> 1) - 1] as Group;
    this.#cut(last.values);
  }

  #cut(upTo: GroupValues): void {
    if (this.#upTo !== undefined && compareValues(this.#upTo, upTo) <= 0) return;
    this.#upTo = upTo;
    this.#bytes = 0;
    for (const [key, { values, durations, costs }] of this.#groups) {
      if (compareValues(values, upTo) > 0) this.#groups.delete(key);
      else {
        const own = GROUP_BYTES + 2 * key.length + TEXT_BYTES * values.length;
        this.#bytes += own + CURRENCY_BYTES * costs.size + 8 * (durations?.count ?? 0);
      }
    }
  }
}
