export type LineLevel = "warn" | "error";

/** Where the lines go: a log, or what looks like one. */
type Lines = { isLevelEnabled(level: LineLevel): boolean } & {
  readonly [level in LineLevel]: (fields: object, text: string) => void;
};

interface Repeats {
  count: number;
  write: (count: number) => void;
}

const INTERVAL_MS = 1000;
/** How many kinds are told apart within a second; further ones are told apart only by their text. */
const KINDS = 1000;

/**
 * Writes the first line of a kind at once, and all others of the same second as a single line with their `count`,
 * because something that fails a thousand times a second must not fill the disk.
 */
export class RepeatedLines {
  readonly #logger: Lines;
  readonly #kinds = new Map<string, Repeats>();

  constructor(logger: Lines) {
    this.#logger = logger;
  }

  /** Lines of one kind differ only in their fields; those of the last line are kept. */
  log(level: LineLevel, kind: string, text: string, fields: () => object): void {
    if (!this.#logger.isLevelEnabled(level)) return;
    const key = this.#kinds.has(kind) || this.#kinds.size < KINDS ? kind : text;
    const known = this.#kinds.get(key);
    const write = (count: number) => this.#logger[level](count === 1 ? fields() : { ...fields(), count }, text);
    if (known !== undefined) {
      known.count += 1;
      known.write = write;
      return;
    }
    write(1);
    this.#begin(key);
  }

  /** Writes what was counted and not yet told. */
  flush(): void {
    for (const repeats of this.#kinds.values()) {
      if (repeats.count > 0) repeats.write(repeats.count);
      repeats.count = 0;
    }
  }

  #begin(kind: string): void {
    const repeats: Repeats = { count: 0, write: () => undefined };
    this.#kinds.set(kind, repeats);
    setTimeout(() => {
      this.#kinds.delete(kind);
      if (repeats.count === 0) return;
      repeats.write(repeats.count);
      // A kind that keeps repeating is written once a second, not twice.
      this.#begin(kind);
    }, INTERVAL_MS).unref();
  }
}
