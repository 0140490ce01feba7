import { signal } from "@preact/signals";
import { listMessages } from "../api/calls.js";
import type { Message } from "../api/types.js";
import { errorLine } from "../parts/outcome.js";
import type { CallView } from "../parts/part-view.js";
import { viewsOf } from "../parts/recognise.js";
import { firstLine } from "../text/format.js";
import { walkBack } from "./walk.js";

/** What a reader looks for first: what was asked, and what went wrong. */
export type OutlineEntry =
  | { readonly kind: "asked"; readonly position: number; readonly timestamp: string; readonly text: string }
  | {
      readonly kind: "failed";
      readonly position: number;
      readonly timestamp: string;
      readonly name: string;
      readonly text: string;
    };

/** Messages that are read for the outline unasked. */
const UNASKED = 1000;

/** Messages among which the first request is looked for. */
const FIRST = 20;

/** Entries of one session, oldest first; reads back from the end, a thousand messages and more on demand. */
export class Outline {
  readonly entries = signal<readonly OutlineEntry[]>([]);
  /** Position of the oldest message that has been read; undefined before the first answer. */
  readonly readTo = signal<number | undefined>(undefined);
  /** What the user asked first, wherever the reading has come to. */
  readonly first = signal<OutlineEntry | undefined>(undefined);
  readonly isReading = signal(false);
  readonly error = signal<unknown>(undefined);
  readonly #sessionId: string;
  readonly #signal: AbortSignal;
  /** Calls whose result said that they failed, until the call itself is met and gives its name. */
  readonly #unnamed = new Map<string, OutlineEntry & { kind: "failed" }>();
  #wanted = UNASKED;

  constructor(sessionId: string, signal: AbortSignal) {
    this.#sessionId = sessionId;
    this.#signal = signal;
  }

  /** Reads that many messages more. */
  readFurther(): void {
    this.#wanted += 5 * UNASKED;
    void this.read();
  }

  /** Reads anew from the end. */
  async read(): Promise<void> {
    if (this.isReading.peek()) return;
    this.isReading.value = true;
    void this.#readFirst();
    this.error.value = undefined;
    const found: OutlineEntry[] = [];
    let count = 0;
    this.#unnamed.clear();
    try {
      await walkBack(this.#sessionId, this.#signal, (messages) => {
        for (const message of messages) this.#takeBack(message, found);
        count += messages.length;
        this.#show(found);
        const oldest = messages.at(-1);
        if (oldest) this.readTo.value = Number(oldest.info.position);
        return count < this.#wanted;
      });
      if (count === 0) this.readTo.value = 0;
    } catch (error) {
      if (!this.#signal.aborted) this.error.value = error;
    } finally {
      this.isReading.value = false;
    }
  }

  async #readFirst(): Promise<void> {
    if (this.first.peek() !== undefined) return;
    const page = await listMessages(this.#sessionId, { limit: FIRST }, this.#signal).catch(() => undefined);
    const asked = page?.messages.flatMap((message) => entriesOf(message, Number(message.info.position)));
    this.first.value = asked?.find(({ kind }) => kind === "asked");
  }

  #takeBack(message: Message, found: OutlineEntry[]): void {
    const position = Number(message.info.position);
    for (const entry of entriesOf(message, position).reverse()) found.push(entry);
    for (const view of viewsOf(message)) {
      if (view.kind === "result" && view.isError && view.callId) this.#unnamed.set(view.callId, lastFailure(found));
      if (view.kind === "call") this.#name(view, position, found);
    }
  }

  #name(call: CallView, position: number, found: OutlineEntry[]): void {
    const entry = this.#unnamed.get(call.callId);
    if (entry === undefined) return;
    this.#unnamed.delete(call.callId);
    const index = found.indexOf(entry);
    if (index >= 0) found[index] = { ...entry, name: call.name, position };
  }

  #show(found: readonly OutlineEntry[]): void {
    this.entries.value = [...found].sort((a, b) => a.position - b.position);
  }
}

function lastFailure(found: readonly OutlineEntry[]): OutlineEntry & { kind: "failed" } {
  return found.findLast((entry) => entry.kind === "failed") as OutlineEntry & { kind: "failed" };
}

function entriesOf(message: Message, position: number): OutlineEntry[] {
  const { role, timestamp } = message.info;
  const entries: OutlineEntry[] = [];
  for (const view of viewsOf(message)) {
    if (view.kind === "text" && role === "user" && !entries.some(({ kind }) => kind === "asked")) {
      entries.push({ kind: "asked", position, timestamp, text: firstLine(view.text) });
    }
    if (view.kind === "call" && view.status === "failed") {
      entries.push({ kind: "failed", position, timestamp, name: view.name, text: errorLine(view.output) });
    }
    if (view.kind === "result" && view.isError) {
      entries.push({ kind: "failed", position, timestamp, name: view.name || "tool", text: errorLine(view.output) });
    }
    if (view.kind === "error")
      entries.push({ kind: "failed", position, timestamp, name: "", text: firstLine(view.text, 300) });
  }
  return entries;
}
