import type { ForeignMessage } from "../readers/reader.js";
import type { OnMend } from "./storable.js";

const DAY_MICROS = 24 * 60 * 60 * 1_000_000;
/** The first moment of year 1, where protobuf's timestamps begin. */
const FIRST_MICROS = -62_135_596_800_000_000;

/** The times of a file: those that it has, and those that follow from others. */
export class MessageTimes {
  readonly #nowMicros: number;
  readonly #onMend: OnMend;

  constructor(nowMicros: number, onMend: OnMend) {
    this.#nowMicros = nowMicros;
    this.#onMend = onMend;
  }

  /** A time in whole microseconds; undefined when it cannot be, like one that is still to come. */
  known(micros: number | undefined): number | undefined {
    if (micros === undefined || this.#canBe(micros)) return micros === undefined ? undefined : Math.round(micros);
    this.#onMend("times that cannot be; others stand in for them");
    return undefined;
  }

  /**
   * The times of a list in its order: none is earlier than the one before it, because the order of the list counts.
   * `previous` is the time before the list.
   */
  of(messages: readonly ForeignMessage[], previous: number): number[] {
    let latest = previous;
    return messages.map(({ timestampMicros }) => {
      latest = Math.max(this.known(timestampMicros) ?? latest, latest);
      return latest;
    });
  }

  /** The first time of a list that can be. */
  first(messages: readonly ForeignMessage[]): number | undefined {
    const message = messages.find(({ timestampMicros = Number.NaN }) => this.#canBe(timestampMicros));
    return message && Math.round(message.timestampMicros as number);
  }

  #canBe(micros: number): boolean {
    return micros >= FIRST_MICROS && micros <= this.#nowMicros + DAY_MICROS;
  }
}
