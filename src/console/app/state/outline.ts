import { signal } from "@preact/signals";
import { listMessages } from "../api/calls.js";
import type { Message } from "../api/types.js";
import { errorLine } from "../parts/outcome.js";
import type { CallView } from "../parts/part-view.js";
import { viewsOf } from "../parts/recognise.js";
import { firstLine } from "../text/format.js";
import { BackwardWalk } from "./walk.js";

/** What a reader looks for first: what was asked and what failed. */
export type OutlineEntry =
  | { readonly kind: "asked"; readonly position: number; readonly timestamp: string; readonly text: string }
  | {
      readonly kind: "failed";
      readonly position: number;
      readonly timestamp: string;
      readonly name: string;
      readonly text: string;
    };

/** How many messages the outline reads before the reader asks for more. */
const UNASKED = 1000;

/** How many messages from the start are searched for the first request. */
const FIRST = 20;

/** The outline of one session, oldest entries first. It covers the last thousand messages, and more on demand. */
export class Outline {
  readonly entries = signal<readonly OutlineEntry[]>([]);
  readonly walk = new BackwardWalk();
  /** Position of the oldest message that the entries cover; undefined before the first answer. */
  readonly readTo = signal<number | undefined>(undefined);
  /** What the user asked first, however far the outline has been read. */
  readonly first = signal<OutlineEntry | undefined>(undefined);
  readonly #sessionId: string;
  /** Failed results whose call has not been read yet, by call id. The call gives them their name. */
  readonly #unnamed = new Map<string, OutlineEntry & { kind: "failed" }>();
  #wanted = UNASKED;
  /** Whether something has changed since the read under way began. */
  #again = false;
  /** How many messages the last complete read has covered. */
  #read = 0;

  constructor(sessionId: string) {
    this.#sessionId = sessionId;
  }

  stop(): void {
    this.#again = false;
    this.walk.stop();
  }

  /** Reads 5,000 more messages. */
  readFurther(): void {
    this.#wanted += 5 * UNASKED;
    void this.read();
  }

  /** Reads again from the end. The old entries stay until as much has been read again. */
  async read(): Promise<void> {
    if (this.walk.isReading.peek()) {
      this.#again = true;
      return;
    }
    do {
      this.#again = false;
      await this.#readOnce();
    } while (this.#again);
  }

  async #readOnce(): Promise<void> {
    const found: OutlineEntry[] = [];
    let count = 0;
    let oldest = 0;
    this.#unnamed.clear();
    await this.walk.start(this.#sessionId, (messages) => {
      for (const message of messages) this.#takeBack(message, found);
      count += messages.length;
      oldest = Number(messages.at(-1)?.info.position ?? 0);
      if (count >= this.#read) this.#show(found, oldest);
      return count < this.#wanted;
    });
    if (this.walk.error.peek() !== undefined) return;
    this.#read = count;
    this.#show(found, oldest);
    // A walk that has reached the first message has found the first request, too.
    if (oldest > 0) void this.#readFirst();
  }

  async #readFirst(): Promise<void> {
    const page = await listMessages(this.#sessionId, { limit: FIRST }).catch(() => undefined);
    if (page === undefined) return;
    const asked = page.messages.flatMap((message) => entriesOf(message, Number(message.info.position)));
    this.first.value = asked.find(({ kind }) => kind === "asked");
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

  #show(found: readonly OutlineEntry[], readTo: number): void {
    this.readTo.value = readTo;
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
