import type { GroupValues, UsageRow } from "../../../domain/usage-groups.js";
import type { RunningSum } from "./running-sum.js";
import type { KeepingLimits } from "./sum-limits.js";

const ROW_BYTES = 700;

/** A sum that this process is making, or the rows of one that is done. */
export interface KeptSum {
  /** What the sum was asked for; another question is never answered by it. */
  readonly question: string;
  /** Only groups after this one. */
  readonly after: GroupValues | undefined;
  readonly begunMs: number;
  /** How often this process had forgotten all sums when this one began. */
  readonly round: number;
  state: RunningSum | FinishedSum;
}

export interface FinishedSum {
  readonly rows: readonly UsageRow[];
  /** Whether there are groups after the last row. */
  readonly isCut: boolean;
  readonly bytes: number;
}

interface Place {
  readonly owner: KeptSums;
  readonly id: string;
  readonly begunMs: number;
  readonly usedAtMs: number;
  readonly bytes: number;
}

/** What all namespaces of a process keep, the least recently used first. */
const places = new Set<Place>();

/** The sums of one namespace that this process keeps between calls. */
export class KeptSums {
  readonly #limits: KeepingLimits;
  readonly #clockMs: () => number;
  readonly #sums = new Map<string, { readonly sum: KeptSum; readonly place: Place }>();
  #timer: NodeJS.Timeout | undefined;
  #round = 0;

  constructor(limits: KeepingLimits, clockMs: () => number) {
    this.#limits = limits;
    this.#clockMs = clockMs;
  }

  /** A sum that begins now, and is not kept yet. */
  begin(sum: Omit<KeptSum, "begunMs" | "round">): KeptSum {
    return { ...sum, begunMs: this.#clockMs(), round: this.#round };
  }

  /** The sum with this id, if it is kept and was asked for with this question. */
  get(id: string, question: string): KeptSum | undefined {
    this.#forgetOld();
    const found = this.#sums.get(id);
    return found?.sum.question === question ? found.sum : undefined;
  }

  /**
   * Keeps a sum, or keeps it longer. Resolves to whether there is room for it: sums that were used lately are not given
   * up for another one, because then neither might ever end. A sum that began before all were forgotten is not kept.
   */
  keep(id: string, sum: KeptSum): boolean {
    if (sum.round !== this.#round) return true;
    const bytes = sum.state.bytes;
    const known = this.#sums.get(id);
    if (known !== undefined) places.delete(known.place);
    this.#forgetOld();
    const taken = [...places].reduce((total, other) => total + other.bytes, 0);
    const hasRoom = places.size < this.#limits.maxCount && taken + bytes <= this.#limits.maxBytes;
    if (!hasRoom && taken > 0 && known === undefined) return false;
    const place: Place = { owner: this, id, begunMs: sum.begunMs, usedAtMs: this.#clockMs(), bytes };
    places.add(place);
    this.#sums.set(id, { sum, place });
    this.#timer ??= setTimeout(() => this.#onTimer(), this.#limits.idleMs).unref();
    return true;
  }

  forget(id: string): void {
    const found = this.#sums.get(id);
    if (found === undefined) return;
    places.delete(found.place);
    this.#sums.delete(id);
  }

  /** Forgets all sums, also those that a call is working at. */
  forgetAll(): void {
    this.#round++;
    for (const id of [...this.#sums.keys()]) this.forget(id);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.forgetAll();
  }

  #onTimer(): void {
    this.#timer = undefined;
    this.#forgetOld();
    if (this.#sums.size > 0) this.#timer = setTimeout(() => this.#onTimer(), this.#limits.idleMs).unref();
  }

  #forgetOld(): void {
    const nowMs = this.#clockMs();
    const { idleMs, maxAgeMs } = this.#limits;
    for (const { owner, id, begunMs, usedAtMs } of places)
      if (nowMs - usedAtMs >= idleMs || nowMs - begunMs >= maxAgeMs) owner.forget(id);
  }
}

export function finishedSum(rows: readonly UsageRow[], isCut: boolean): FinishedSum {
  const texts = rows.reduce((sum, { values, costs }) => sum + JSON.stringify(values).length + 100 * costs.size, 0);
  return { rows, isCut, bytes: rows.length * ROW_BYTES + 2 * texts };
}
