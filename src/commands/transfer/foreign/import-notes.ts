/** How many places of each kind are kept. */
const SHOWN_PLACES = 50;

interface Kind {
  count: number;
  readonly places: string[];
}

/** What an import mended or left out, counted by kind, with the first places of each. */
export class ImportNotes {
  readonly #mended = new Map<string, Kind>();
  readonly #leftOut = new Map<string, Kind>();

  /** Notes that something was stored in another form. `kind` completes "3 × …", as in `titles cut`. */
  mended(kind: string, place: string): void {
    add(this.#mended, kind, place);
  }

  /** Notes that something was not stored. The command then ends with exit code 3. */
  leftOut(kind: string, place: string): void {
    add(this.#leftOut, kind, place);
  }

  /** Adds what other notes say. */
  add(other: ImportNotes): void {
    merge(this.#mended, other.#mended);
    merge(this.#leftOut, other.#leftOut);
  }

  get leftOutCount(): number {
    return countOf(this.#leftOut);
  }

  /** The first note, for a strict import; undefined when there is none. */
  get first(): string | undefined {
    for (const [kind, { places }] of [...this.#leftOut, ...this.#mended]) return `${places[0]}: ${kind}`;
    return undefined;
  }

  /** The report for the user, as lines; empty when there is nothing to tell. */
  lines(): string[] {
    return [...linesOf("Mended", this.#mended), ...linesOf("Left out", this.#leftOut)];
  }
}

function add(kinds: Map<string, Kind>, name: string, place: string): void {
  const kind = kinds.get(name) ?? { count: 0, places: [] };
  kinds.set(name, kind);
  kind.count += 1;
  if (kind.places.length < SHOWN_PLACES) kind.places.push(place);
}

function merge(kinds: Map<string, Kind>, others: ReadonlyMap<string, Kind>): void {
  for (const [name, { count, places }] of others) {
    for (const place of places) add(kinds, name, place);
    (kinds.get(name) as Kind).count += count - places.length;
  }
}

function countOf(kinds: ReadonlyMap<string, Kind>): number {
  return [...kinds.values()].reduce((sum, { count }) => sum + count, 0);
}

function linesOf(title: string, kinds: ReadonlyMap<string, Kind>): string[] {
  return [...kinds].flatMap(([kind, { count, places }]) => [
    `${title}: ${count.toLocaleString("en-US")} × ${kind}`,
    ...places.map((place) => `  ${place}`),
    ...(count > places.length ? [`  and ${(count - places.length).toLocaleString("en-US")} more`] : []),
  ]);
}
