import { signal } from "@preact/signals";
import type { Message } from "../api/types.js";
import { CallIndex } from "../parts/call-index.js";

/** Messages in a page, and in one request. */
export const PAGE = 50;
/** About 3,000 messages in memory, however long the session is. */
const MAX_PAGES = 60;

/** What has become of messages that had been there. */
export type Edit =
  | { readonly kind: "truncated"; readonly count: number }
  | { readonly kind: "deleted"; readonly position: number }
  | { readonly kind: "updated"; readonly message: Message };

export type ReadPage = (offset: number, limit: number) => Promise<readonly Message[]>;

/**
 * The messages of one session that have been needed, in pages by position. The least recently seen pages are dropped.
 */
export class History {
  /** How many messages the session has. */
  readonly count = signal(0);
  /** Increases whenever something that may be on the screen has changed. */
  readonly version = signal(0);
  /**
   * Increases when positions refer to other messages than before, or a message has new content. Pages that were
   * requested before that are dropped.
   */
  readonly epoch = signal(0);
  /** The newest edit. */
  readonly edit = signal<Edit | undefined>(undefined);
  readonly calls = new CallIndex();
  readonly #pages = new Map<number, readonly Message[]>();
  readonly #reading = new Map<number, Promise<void>>();
  readonly #read: ReadPage;

  constructor(read: ReadPage) {
    this.#read = read;
  }

  /** Begins with the last messages of a session that has this many. */
  begin(count: number, last: readonly Message[]): void {
    this.epoch.value += 1;
    this.#pages.clear();
    this.calls.forget(0);
    this.count.value = count;
    this.edit.value = { kind: "truncated", count };
    const first = count - last.length;
    for (let index = pageOf(first + PAGE - 1); index <= pageOf(count - 1); index++) {
      const from = index * PAGE - first;
      if (from >= 0) this.#keep(index, last.slice(from, from + PAGE));
    }
    this.#changed();
  }

  get(position: number): Message | undefined {
    return this.#pages.get(pageOf(position))?.[position % PAGE];
  }

  /** Returns all messages in memory, oldest first. */
  loaded(): readonly Message[] {
    return [...this.#pages.keys()].sort((a, b) => a - b).flatMap((index) => this.#pages.get(index) ?? []);
  }

  /** Reads what is missing of these positions. Rejects when that fails. */
  async ensure(first: number, last: number): Promise<void> {
    const wanted: Promise<void>[] = [];
    for (let index = pageOf(first); index <= pageOf(Math.min(last, this.count.value - 1)); index++) {
      const page = this.#pages.get(index);
      if (page === undefined) wanted.push(this.#readOnce(index));
      else this.#touch(index, page);
    }
    await Promise.all(wanted);
  }

  appended(message: Message): void {
    const position = Number(message.info.position ?? this.count.value);
    const index = pageOf(position);
    const page = this.#pages.get(index) ?? (position % PAGE === 0 ? [] : undefined);
    if (page !== undefined && page.length >= position % PAGE) {
      this.#keep(index, [...page.slice(0, position % PAGE), message, ...page.slice((position % PAGE) + 1)]);
    } else {
      this.#pages.delete(index);
      this.epoch.value += 1;
    }
    this.count.value = Math.max(this.count.value, position + 1);
    this.#changed();
  }

  /** Keeps only the first messages. */
  truncated(count: number): void {
    this.epoch.value += 1;
    for (const [index, page] of this.#pages) {
      if (index * PAGE >= count) this.#pages.delete(index);
      else if (index * PAGE + page.length > count) this.#pages.set(index, page.slice(0, count - index * PAGE));
    }
    this.calls.forget(count);
    this.count.value = Math.min(this.count.value, count);
    this.edit.value = { kind: "truncated", count };
    this.#changed();
  }

  updated(message: Message): void {
    const position = Number(message.info.position);
    const page = this.#pages.get(pageOf(position));
    this.epoch.value += 1;
    this.edit.value = { kind: "updated", message };
    this.calls.forget(position, position);
    if (page === undefined) return;
    this.#keep(
      pageOf(position),
      page.map((one) => (one.info.id === message.info.id ? message : one)),
    );
    this.#changed();
  }

  /** Notes that one message is gone and all messages after it have moved up. */
  deleted(position: number): void {
    this.epoch.value += 1;
    for (const index of [...this.#pages.keys()]) if (index >= pageOf(position)) this.#pages.delete(index);
    this.calls.forget(position);
    this.count.value = Math.max(0, this.count.value - 1);
    this.edit.value = { kind: "deleted", position };
    this.#changed();
  }

  #readOnce(index: number): Promise<void> {
    const running = this.#reading.get(index);
    if (running !== undefined) return running;
    const reading = this.#readPage(index).finally(() => this.#reading.delete(index));
    this.#reading.set(index, reading);
    return reading;
  }

  async #readPage(index: number): Promise<void> {
    for (;;) {
      const epoch = this.epoch.peek();
      const messages = await this.#readWhole(index * PAGE, epoch);
      if (epoch !== this.epoch.peek()) continue;
      // Messages that were appended meanwhile are left out, because the watch will report them.
      this.#keep(index, messages.slice(0, Math.max(0, this.count.value - index * PAGE)));
      this.#changed();
      return;
    }
  }

  /** An answer is at most 3 MiB, so a page may take several requests. */
  async #readWhole(offset: number, epoch: number): Promise<readonly Message[]> {
    const messages: Message[] = [];
    while (messages.length < Math.min(PAGE, this.count.value - offset) && epoch === this.epoch.peek()) {
      const more = await this.#read(offset + messages.length, PAGE - messages.length);
      if (more.length === 0) break;
      messages.push(...more);
    }
    return messages;
  }

  #keep(index: number, page: readonly Message[]): void {
    this.calls.add(page, index * PAGE);
    this.#touch(index, page);
    for (const oldest of this.#pages.keys()) {
      if (this.#pages.size <= MAX_PAGES) break;
      this.#pages.delete(oldest);
    }
  }

  /** Moves a page to the end of the Map, which keeps the order in which keys were set. */
  #touch(index: number, page: readonly Message[]): void {
    this.#pages.delete(index);
    this.#pages.set(index, page);
  }

  #changed(): void {
    this.version.value += 1;
  }
}

function pageOf(position: number): number {
  return Math.floor(position / PAGE);
}
