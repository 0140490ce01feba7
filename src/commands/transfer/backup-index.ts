import type { NumberRange } from "../../domain/session-image.js";
import type { LinePlace } from "./lines.js";
import { NumberColumn } from "./number-column.js";

/** How many messages lie between two places from which a file can be read again. */
const STRIDE = 1000;

/** Where the sessions and messages of a file are, and the times of the messages; 8 bytes a message. */
export class BackupIndex {
  readonly #sessions = { lines: new NumberColumn(), offsets: new NumberColumn(), firsts: new NumberColumn() };
  readonly #places = { numbers: new NumberColumn(), lines: new NumberColumn(), offsets: new NumberColumn() };
  readonly #times = new NumberColumn();
  /** The numbers of messages that are earlier than their predecessor. */
  readonly #descents = new NumberColumn();
  readonly #namedLater = new Set<number>();
  readonly #attachments = { lines: new NumberColumn(), offsets: new NumberColumn() };
  /** Which message names which attachment: a row for each, in the order of the messages. */
  readonly #namings = { messages: new NumberColumn(), attachments: new NumberColumn() };
  readonly #namedOnce = new Set<number>();
  readonly #namedOften = new Set<number>();
  /** The attachments whose bytes are damaged. */
  readonly #damaged = new Set<number>();
  /** Maps forks to the sessions that they were made from. */
  readonly #sources = new Map<number, number>();
  #order: Iterable<number> = [];

  get sessionCount(): number {
    return this.#sessions.lines.length;
  }

  get messageCount(): number {
    return this.#times.length;
  }

  addSession({ number, offset }: LinePlace): void {
    this.#sessions.lines.push(number);
    this.#sessions.offsets.push(offset);
    this.#sessions.firsts.push(this.messageCount + 1);
  }

  addMessage({ number, offset }: LinePlace, timestampMicros: number): void {
    const count = this.#times.length;
    const [first] = [this.#sessions.firsts.at(this.sessionCount - 1)];
    if ((count + 1 - first) % STRIDE === 0) {
      this.#places.numbers.push(count + 1);
      this.#places.lines.push(number);
      this.#places.offsets.push(offset);
    }
    if (count > 0 && timestampMicros < this.#times.at(count - 1)) this.#descents.push(count + 1);
    this.#times.push(timestampMicros);
  }

  get attachmentCount(): number {
    return this.#attachments.lines.length;
  }

  addAttachment({ number, offset }: LinePlace): void {
    this.#attachments.lines.push(number);
    this.#attachments.offsets.push(offset);
  }

  attachmentPlace(number: number): LinePlace {
    return { number: this.#attachments.lines.at(number - 1), offset: this.#attachments.offsets.at(number - 1) };
  }

  /** Notes that the last message names an attachment. */
  noteAttachment(number: number): void {
    this.#namings.messages.push(this.messageCount);
    this.#namings.attachments.push(number);
    if (this.#namedOnce.has(number)) this.#namedOften.add(number);
    else this.#namedOnce.add(number);
  }

  /** The attachments that these messages name and that other messages name, too. */
  sharedAttachments({ first, last }: NumberRange): readonly number[] {
    const { messages, attachments } = this.#namings;
    const found = new Set<number>();
    for (let i = messages.countUpTo(first - 1); i < messages.length && messages.at(i) <= last; i++) {
      if (this.#namedOften.has(attachments.at(i))) found.add(attachments.at(i));
    }
    return [...found];
  }

  noteDamaged(number: number): void {
    this.#damaged.add(number);
  }

  isDamaged(number: number): boolean {
    return this.#damaged.has(number);
  }

  sessionPlace(index: number): LinePlace {
    return { number: this.#sessions.lines.at(index), offset: this.#sessions.offsets.at(index) };
  }

  /** The numbers of the messages that follow a session; empty when `last` is before `first`. */
  numbersOf(index: number): NumberRange {
    const { firsts } = this.#sessions;
    const last = index + 1 < firsts.length ? firsts.at(index + 1) - 1 : this.messageCount;
    return { first: firsts.at(index), last };
  }

  /** A place from which to read, and the number of the message there. */
  placeBefore(number: number): LinePlace & { readonly message: number } {
    const { numbers, lines, offsets } = this.#places;
    const i = numbers.countUpTo(number) - 1;
    return { message: numbers.at(i), number: lines.at(i), offset: offsets.at(i) };
  }

  /** Notes that a session names messages of earlier sessions. */
  noteNamed({ first, last }: NumberRange): void {
    for (let owner = this.ownerOf(first); owner <= this.ownerOf(last); owner++) this.#namedLater.add(owner);
  }

  /** Whether other sessions may name messages that this one stores. */
  isNamedLater(index: number): boolean {
    return this.#namedLater.has(index);
  }

  /** Notes that a session is a fork or share of another one in the file. */
  noteSource(index: number, source: number): void {
    this.#sources.set(index, source);
  }

  /** The session that a fork or share was made from, if it is in the file. */
  sourceOf(index: number): number | undefined {
    return this.#sources.get(index);
  }

  /** Fixes the order in which sessions are stored, or returns a session whose source was made from it. */
  fixOrder(): number | undefined {
    const order = importOrder(this.sessionCount, this.#sources);
    if (typeof order === "number") return order;
    this.#order = order.sessions;
    // A source that comes early stores the messages that follow its forks in the file.
    for (const session of order.moved) this.#namedLater.add(session);
    return undefined;
  }

  /** The sessions in the order in which they are stored: a source comes before its forks. */
  get order(): Iterable<number> {
    return this.#order;
  }

  /** The session that a message follows. */
  ownerOf(number: number): number {
    return this.#sessions.firsts.countUpTo(number) - 1;
  }

  /** The first message of a list that is earlier than its predecessor. */
  firstDescent(ranges: readonly NumberRange[]): number | undefined {
    let previous = Number.NEGATIVE_INFINITY;
    for (const { first, last } of ranges) {
      if (this.#times.at(first - 1) < previous) return first;
      const next = this.#descents.countUpTo(first);
      if (next < this.#descents.length && this.#descents.at(next) <= last) return this.#descents.at(next);
      previous = this.#times.at(last - 1);
    }
    return undefined;
  }
}

/** The order in which the sessions of a file are stored. */
export interface ImportOrder {
  readonly sessions: Uint32Array;
  /** The sessions that are stored earlier than they stand in the file. */
  readonly moved: readonly number[];
}

/**
 * The order of the file, except that the source of a fork comes before the fork: the fork names its source by a uid,
 * which the source has only once it is stored. `sources` maps forks to their sources. A number is returned instead when
 * there is no such order: that of a session whose source was made from it.
 */
function importOrder(count: number, sources: ReadonlyMap<number, number>): ImportOrder | number {
  const sessions = new Uint32Array(count);
  const moved: number[] = [];
  const isPlaced = new Uint8Array(count);
  let length = 0;
  for (let session = 0; session < count; session++) {
    const chain = new Set<number>();
    for (let next: number | undefined = session; next !== undefined && !isPlaced[next]; next = sources.get(next)) {
      if (chain.has(next)) return next;
      chain.add(next);
    }
    for (const next of [...chain].reverse()) {
      if (next !== session) moved.push(next);
      isPlaced[next] = 1;
      sessions[length++] = next;
    }
  }
  return { sessions, moved };
}
