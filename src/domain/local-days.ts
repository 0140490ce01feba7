const MS_PER_DAY = 86_400_000;
/** Whole blocks of time have one offset, except the few in which a zone changes its clocks. */
const BLOCK_MS = 3_600_000;
/** More blocks than a century has. Fewer are kept than a hostile range of times could fill memory with. */
const MOST_BLOCKS = 100_000;
const UTC_NAMES = /^(?:UTC|Etc\/UTC)?$/i;

/** Tells on which day of a time zone a moment is. Days of UTC need no zone. */
export class LocalDays {
  readonly #format: Intl.DateTimeFormat | undefined;
  /** Offsets in milliseconds by block; null where the clocks change. */
  readonly #offsets = new Map<number, number | null>();
  #texts = new Map<number, string>();

  /** `timeZone` is a name that `checkTimeZone` accepts; empty for UTC. */
  constructor(timeZone = "") {
    if (UTC_NAMES.test(timeZone)) return;
    this.#format = new Intl.DateTimeFormat("en-US", {
      timeZone,
      hourCycle: "h23",
      era: "short",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  }

  /** The day as `2026-11-28`, of a moment in microseconds since 1970. */
  textOf(micros: number): string {
    const ms = Math.floor(micros / 1000);
    const day = Math.floor((ms + this.#offsetAt(ms)) / MS_PER_DAY);
    let text = this.#texts.get(day);
    if (text === undefined) {
      text = new Date(day * MS_PER_DAY).toISOString().split("T")[0] as string;
      if (this.#texts.size >= MOST_BLOCKS) this.#texts = new Map();
      this.#texts.set(day, text);
    }
    return text;
  }

  /** When a day given as `2026-11-28` begins, in microseconds since 1970; NaN for a text that is no day. */
  startOf(day: string): number {
    const utc = Date.parse(`${day}T00:00:00Z`);
    if (Number.isNaN(utc) || !new Date(utc).toISOString().startsWith(day)) return Number.NaN;
    // Clocks that go forward at midnight have no 00:00, so the day begins at the first moment that is on it.
    const candidates = [-1, 0, 1].map((days) => utc - this.#offsetAt(utc + days * MS_PER_DAY));
    return Math.min(...candidates.filter((ms) => this.textOf(ms * 1000) === day)) * 1000;
  }

  #offsetAt(ms: number): number {
    if (this.#format === undefined) return 0;
    const block = Math.floor(ms / BLOCK_MS);
    let offset = this.#offsets.get(block);
    if (offset === undefined) {
      const start = this.#offsetOf(block * BLOCK_MS);
      offset = start === this.#offsetOf((block + 1) * BLOCK_MS) ? start : null;
      if (this.#offsets.size >= MOST_BLOCKS) this.#offsets.clear();
      this.#offsets.set(block, offset);
    }
    return offset ?? this.#offsetOf(ms);
  }

  /** Asks the runtime, which takes microseconds. */
  #offsetOf(ms: number): number {
    const second = Math.floor(ms / 1000) * 1000;
    const fields = new Map<string, string>();
    for (const { type, value } of (this.#format as Intl.DateTimeFormat).formatToParts(second)) fields.set(type, value);
    const numberOf = (name: string) => Number(fields.get(name));
    const year = fields.get("era") === "BC" ? 1 - numberOf("year") : numberOf("year");
    const local = new Date(0);
    local.setUTCFullYear(year, numberOf("month") - 1, numberOf("day"));
    local.setUTCHours(numberOf("hour"), numberOf("minute"), numberOf("second"));
    return local.getTime() - second;
  }
}
