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
  usedAtMs: number;
  bytes: number;
}

/** What all namespaces of a process keep, the least recently used first. */
const places = new Set<Place>();

/** The sums of one namespace that this process keeps between calls. */
export class KeptSums {
  readonly #limits: KeepingLimits;
  readonly #clockMs: () => number;
  readonly #sums = new Map<string, { readonly sum: KeptSum; readonly place: Place }>();
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: KeepingLimits, clockMs: () => number) {
    this.#limits = limits;
    this.#clockMs = clockMs;
  }

  /** The sum with this id, if it is kept and was asked for with this question. */
  get(id: string, question: string): KeptSum | undefined {
    this.#forgetIdle();
    const found = this.#sums.get(id);
    return found?.sum.question === question ? found.sum : undefined;
  }

  /**
   * Keeps a sum, or keeps it longer. Resolves to whether there is room for it: sums that were used lately are not given
   * up for another one, because then neither might ever end.
   */
  keep(id: string, sum: KeptSum): boolean {
    const bytes = sum.state.bytes;
    const known = this.#sums.get(id);
    const place: Place = known?.place ?? { owner: this, id, usedAtMs: 0, bytes: 0 };
    places.delete(place);
    this.#forgetIdle();
    const taken = [...places].reduce((total, other) => total + other.bytes, 0);
    const hasRoom = places.size < this.#limits.maxCount && taken + bytes <= this.#limits.maxBytes;
    if (!hasRoom && taken > 0 && known === undefined) return false;
    place.usedAtMs = this.#clockMs();
    place.bytes = bytes;
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

  close(): void {
    clearTimeout(this.#timer);
    for (const id of [...this.#sums.keys()]) this.forget(id);
  }

  #onTimer(): void {
    this.#timer = undefined;
    this.#forgetIdle();
    if (this.#sums.size > 0) this.#timer = setTimeout(() => this.#onTimer(), this.#limits.idleMs).unref();
  }

  #forgetIdle(): void {
    const untilMs = this.#clockMs() - this.#limits.idleMs;
    for (const { owner, id, usedAtMs } of places) if (usedAtMs <= untilMs) owner.forget(id);
  }
}

export function finishedSum(rows: readonly UsageRow[], isCut: boolean): FinishedSum {
  const texts = rows.reduce((sum, { values, costs }) => sum + JSON.stringify(values).length + 100 * costs.size, 0);
  return { rows, isCut, bytes: rows.length * ROW_BYTES + 2 * texts };
}
