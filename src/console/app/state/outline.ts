import { signal } from "@preact/signals";
import { errorLine, firstLine } from "../../../parts/lines.js";
import type { CallView } from "../../../parts/part-view.js";
import { viewsOf } from "../../../parts/recognise.js";
import { listMessages } from "../api/calls.js";
import type { Message } from "../api/types.js";
import type { Edit } from "./history.js";
import { BackwardWalk } from "./walk.js";

/** What a reader looks for first: what was asked and what failed. */
export type OutlineEntry = Asked | Failed;

interface Asked {
  readonly kind: "asked";
  readonly position: number;
  readonly timestamp: string;
  readonly text: string;
}

interface Failed {
  readonly kind: "failed";
  /** Where the call is, or the message itself if it reports no call. */
  readonly position: number;
  /** Where the failure is reported, if that is not the same message. */
  readonly reportedAt?: number;
  readonly timestamp: string;
  readonly name: string;
  /** The call of a result that does not name its tool. The list of messages may know the name before the outline. */
  readonly callId?: string;
  readonly text: string;
}

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
  /** Whether a read is under way that goes further back than those before it. */
  readonly isGrowing = signal(true);
  /** What the user asked first, however far the outline has been read. */
  readonly first = signal<OutlineEntry | undefined>(undefined);
  readonly #sessionId: string;
  /** Failed results whose call has not been read yet, by call id. The call gives them their name. */
  readonly #unnamed = new Map<string, Failed>();
  #wanted = UNASKED;
  /** Whether something has changed since the read under way began. */
  #again = false;
  /** How many messages the last complete read was to cover at most. */
  #covered = 0;
  /** How many messages the last complete read has covered. */
  #read = 0;
  /** Counts the reads that were begun or stopped, so that one which was stopped shows nothing. */
  #reads = 0;

  constructor(sessionId: string) {
    this.#sessionId = sessionId;
  }

  stop(): void {
    this.#again = false;
    this.#reads += 1;
    this.walk.stop();
  }

  /** Takes an edit into account at once, as far as it is known without reading. Reading again does the rest. */
  take(edit: Edit): void {
    // What has been read so far may be gone.
    this.stop();
    const kept = (entries: readonly OutlineEntry[]) => entries.flatMap((entry) => afterEdit(entry, edit));
    this.entries.value = kept(this.entries.peek());
    this.first.value = kept(this.first.peek() === undefined ? [] : [this.first.peek() as OutlineEntry])[0];
    const readTo = this.readTo.peek();
    if (edit.kind === "truncated" && readTo !== undefined) this.readTo.value = Math.min(readTo, edit.count);
    if (edit.kind !== "updated") return;
    const position = Number(edit.message.info.position);
    if (readTo !== undefined && position >= readTo)
      this.#show([...this.entries.peek(), ...entriesOf(edit.message, position).map(({ entry }) => entry)], readTo);
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
    this.#reads += 1;
    const read = this.#reads;
    const wanted = this.#wanted;
    this.isGrowing.value = wanted > this.#covered;
    await this.walk.start(this.#sessionId, (messages) => {
      for (const message of messages) this.#takeBack(message, found);
      count += messages.length;
      oldest = Number(messages.at(-1)?.info.position ?? 0);
      if (count >= this.#read) this.#show(found.toReversed(), oldest);
      return count < this.#wanted;
    });
    if (read !== this.#reads || this.walk.error.peek() !== undefined) return;
    this.#read = count;
    this.#covered = wanted;
    this.isGrowing.value = false;
    this.#show(found.toReversed(), oldest);
    // A walk that has reached the first message has found the first request, too.
    if (oldest > 0) void this.#readFirst();
  }

  async #readFirst(): Promise<void> {
    const read = this.#reads;
    const page = await listMessages(this.#sessionId, { limit: FIRST }).catch(() => undefined);
    if (page === undefined || read !== this.#reads) return;
    const entries = page.messages.flatMap((message) => entriesOf(message, Number(message.info.position)));
    this.first.value = entries.map(({ entry }) => entry).find(({ kind }) => kind === "asked");
  }

  #takeBack(message: Message, found: OutlineEntry[]): void {
    const position = Number(message.info.position);
    for (const { entry, callId } of entriesOf(message, position).reverse()) {
      found.push(entry);
      if (entry.kind === "failed" && callId) this.#unnamed.set(callId, entry);
    }
    // After all results of the message, because a call stands before its result.
    for (const view of viewsOf(message)) if (view.kind === "call") this.#name(view, position, found);
  }

  #name(call: CallView, position: number, found: OutlineEntry[]): void {
    const entry = this.#unnamed.get(call.callId);
    if (entry === undefined) return;
    this.#unnamed.delete(call.callId);
    const index = found.indexOf(entry);
    if (index >= 0) found[index] = { ...entry, name: call.name, position, reportedAt: entry.position };
  }

  #show(entries: readonly OutlineEntry[], readTo: number): void {
    this.readTo.value = readTo;
    this.entries.value = [...entries].sort((a, b) => a.position - b.position);
  }
}

/** An entry as it is after an edit; none if the message that it tells of is gone or has changed. */
function afterEdit(entry: OutlineEntry, edit: Edit): OutlineEntry[] {
  const { reportedAt = entry.position } = entry as Failed;
  switch (edit.kind) {
    case "truncated":
      return reportedAt < edit.count ? [entry] : [];
    case "updated":
      return Number(edit.message.info.position) === reportedAt ? [] : [entry];
    case "deleted": {
      if (edit.position === reportedAt) return [];
      const moved = (position: number) => (position > edit.position ? position - 1 : position);
      const report = entry.kind === "failed" && entry.reportedAt !== undefined;
      return [{ ...entry, position: moved(entry.position), ...(report && { reportedAt: moved(reportedAt) }) }];
    }
  }
}

/** The entries of a message; failures of which only the result is known have the id of their call. */
function entriesOf(message: Message, position: number): { entry: OutlineEntry; callId?: string }[] {
  const { role, timestamp } = message.info;
  const entries: { entry: OutlineEntry; callId?: string }[] = [];
  const failed = (name: string, text: string, callId = "", isNamed = true) =>
    entries.push({
      entry: { kind: "failed", position, timestamp, name, text, ...(!isNamed && callId && { callId }) },
      callId,
    });
  const views = viewsOf(message);
  const asked = role === "user" ? views.find(({ kind }) => kind === "text") : undefined;
  if (asked?.kind === "text")
    entries.push({ entry: { kind: "asked", position, timestamp, text: firstLine(asked.text) } });
  for (const view of views) {
    if (view.kind === "call" && view.status === "failed") failed(view.name, errorLine(view.output));
    if (view.kind === "result" && view.isError)
      failed(view.name || "tool", errorLine(view.output), view.callId, view.name !== "");
    if (view.kind === "error") failed("", firstLine(view.text, 300));
  }
  return entries;
}
