import { apply, type Circumstances, isVisible, type ModelState, type Source } from "./model.js";
import type { Operation, Outcome } from "./operations.js";

/** One operation as its client observed it. Moments are numbers in one order that all clients share. */
export interface Observed {
  readonly operation: Operation;
  at: Circumstances;
  readonly client: string;
  readonly calledAt: number;
  /** Infinity: there was no answer, or one that leaves open whether the operation happened. */
  answeredAt: number;
  /** The true times of the call and of its answer, if there was one. */
  readonly fromMs: number;
  toMs: number;
  outcome?: Outcome;
}

/**
 * A place in the search: which operations are done, the state they have led to, and what operations that are half done
 * have read.
 */
interface Place {
  readonly state: ModelState;
  readonly done: number;
  /**
   * Maps the number of an operation to the source as it has read it. Fork, share, copy and create with a parent read
   * one.
   */
  readonly sources: ReadonlyMap<number, Source>;
}

/** Operations that change nothing. */
export const READS: ReadonlySet<Operation["op"]> = new Set([
  "session",
  "record",
  "load",
  "get",
  "count",
  "list",
  "page",
]);

/** The most operations that one history may have. */
const MAX_OPERATIONS = 52;

/** The most places that a search visits. The rare history that needs more stays undecided. */
const MAX_PLACES = 10_000;

/**
 * Whether there is a legal order of the operations. In a legal order each operation takes effect at one point between
 * its call and its answer, and every answer is the one that the model gives at that point. Fork, share, copy and create
 * with a parent have two points: they read the source, then they write the target. An operation without an answer may
 * have happened at any time after its call, or never. Null: the search was given up.
 */
export async function isLinearizable(start: ModelState, history: readonly Observed[]): Promise<boolean | null> {
  if (history.length > MAX_OPERATIONS) throw new Error(`More than ${MAX_OPERATIONS} operations`);
  const search = new Search(history);
  if (await search.from({ state: start, done: 0, sources: new Map() })) return true;
  return search.isGivenUp ? null : false;
}

class Search {
  readonly #history: readonly Observed[];
  readonly #outcomes: readonly string[];
  /** For each operation, the operations that were answered before it was called. */
  readonly #before: readonly (readonly number[])[];
  readonly #seen = new Set<string>();

  constructor(history: readonly Observed[]) {
    this.#history = history;
    this.#outcomes = history.map(({ outcome }) => JSON.stringify(outcome) ?? "");
    this.#before = history.map(({ calledAt }) =>
      history.flatMap(({ answeredAt }, i) => (answeredAt < calledAt ? [i] : [])),
    );
  }

  get isGivenUp(): boolean {
    return this.#seen.size > MAX_PLACES;
  }

  async from(place: Place): Promise<boolean> {
    if (this.#history.every((_, i) => has(place.done, i) || !this.#isAnswered(i))) return true;
    const key = keyOf(place);
    if (this.#seen.has(key) || this.isGivenUp) return false;
    this.#seen.add(key);
    const open = this.#history.flatMap((_, i) =>
      !has(place.done, i) && (this.#before[i] ?? []).every((j) => has(place.done, j)) ? [i] : [],
    );
    for (const i of open) {
      if (await this.#isReadHere(place, i)) return this.from({ ...place, done: place.done + 2 ** i });
    }
    // Operations without an answer are tried last, because the answers alone mostly determine the order.
    const known = open.filter((i) => this.#isAnswered(i));
    const unknown = open.filter((i) => !this.#isAnswered(i));
    for (const i of [...known, ...unknown]) {
      for (const next of await this.#moves(place, i)) if (await this.from(next)) return true;
    }
    return false;
  }

  /**
   * Whether a read or a refusal has the right answer at this place. It changes nothing, so it can be placed here
   * without trying later places.
   */
  async #isReadHere({ state }: Place, i: number): Promise<boolean> {
    const { operation, at } = this.#at(i);
    if (!this.#isAnswered(i) || readsSource(operation)) return false;
    if (!READS.has(operation.op) && !isRefusal(this.#at(i).outcome)) return false;
    const [next, outcome] = await apply(state, operation, at);
    return next === state && JSON.stringify(outcome) === this.#outcomes[i];
  }

  async #moves(place: Place, i: number): Promise<Place[]> {
    const { operation, at } = this.#at(i);
    const known = this.#isAnswered(i);
    const done = place.done + 2 ** i;
    const source = place.sources.get(i);
    if (readsSource(operation) && source === undefined) return this.#firstPoint(place, i);
    const [state, outcome] = await apply(place.state, operation, at, source);
    const isLegal = known ? JSON.stringify(outcome) === this.#outcomes[i] : state !== place.state;
    if (!isLegal) return [];
    const sources = new Map(place.sources);
    sources.delete(i);
    return [{ state, done, sources }];
  }

  /** The places after the first point: the source has been read, or the answer is a refusal that one point explains. */
  #firstPoint(place: Place, i: number): Place[] {
    const { operation } = this.#at(i);
    const source = place.state.sessions.get(sourceOf(operation)) ?? null;
    const places: Place[] = [];
    if (this.#refusedHere(place.state, operation, this.#outcomes[i] ?? "")) {
      places.push({ ...place, done: place.done + 2 ** i });
    }
    places.push({ ...place, sources: new Map(place.sources).set(i, source) });
    return places;
  }

  #refusedHere(state: ModelState, operation: Operation, outcome: string): boolean {
    const visible = (id: string) => {
      const session = state.sessions.get(id);
      return session !== undefined && isVisible(session, operation.as) ? session : undefined;
    };
    const source = visible(sourceOf(operation));
    if (outcome === '{"error":"not_found"}') {
      return !source || (operation.op === "copy" && !visible(operation.to));
    }
    if (outcome !== '{"error":"invalid_argument"}' || !source || !("mid" in operation) || operation.mid === null) {
      return false;
    }
    return !source.messages.some(({ id }) => id === operation.mid);
  }

  #isAnswered(i: number): boolean {
    return this.#at(i).answeredAt !== Number.POSITIVE_INFINITY;
  }

  #at(i: number): Observed {
    return this.#history[i] as Observed;
  }
}

function readsSource(operation: Operation): boolean {
  const { op } = operation;
  return op === "fork" || op === "share" || op === "copy" || (op === "create" && operation.parent !== null);
}

function sourceOf(operation: Operation): string {
  return operation.op === "create" ? (operation.parent ?? "") : operation.id;
}

function isRefusal(outcome: Outcome): boolean {
  return typeof outcome === "object" && outcome !== null && "error" in outcome;
}

function has(done: number, i: number): boolean {
  return Math.floor(done / 2 ** i) % 2 === 1;
}

const sessionKeys = new WeakMap<object, string>();

function sessionKey(session: object): string {
  let key = sessionKeys.get(session);
  if (key === undefined) {
    key = JSON.stringify(session);
    sessionKeys.set(session, key);
  }
  return key;
}

function keyOf({ state, done, sources }: Place): string {
  const sessions = [...state.sessions]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([id, session]) => `${id}=${sessionKey(session)}`);
  const read = [...sources].sort(([a], [b]) => a - b).map(([i, source]) => `${i}<${source ? sessionKey(source) : ""}`);
  return [done, ...sessions, ...read, [...state.lists].join()].join("|");
}
