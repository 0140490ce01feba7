import { signal } from "@preact/signals";
import type { CallStatus } from "../../../parts/part-view.js";
import { viewsOf } from "../../../parts/recognise.js";
import type { Message } from "../api/types.js";
import { outcomeOf } from "../parts/outcome.js";
import { type MessageUsage, usageOf } from "../parts/usage.js";
import type { History } from "./history.js";

/** Something that ran during a turn. */
export interface Bar {
  readonly kind: "model" | "tool";
  readonly position: number;
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
  /** When the first token came. */
  readonly firstTokenMs?: number;
  readonly status?: CallStatus | undefined;
  readonly usage?: MessageUsage;
  /** Whether no time was reported, so that it is reckoned from the times of messages. */
  readonly isEstimate: boolean;
}

/** A request and all that followed until the next one. */
export interface Turn {
  readonly first: number;
  readonly last: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly bars: readonly Bar[];
  /** Whether it has more messages than are looked at. */
  readonly isCut: boolean;
}

/** How many messages of a turn are looked at. */
const MAX_MESSAGES = 500;
const STEP = 50;

/** The turn of one session that is looked at. */
export class Timeline {
  readonly turn = signal<Turn | undefined>(undefined);
  readonly error = signal<unknown>(undefined);
  readonly #history: History;
  #reads = 0;

  constructor(history: History) {
    this.#history = history;
  }

  /** Reads the turn that a message belongs to. */
  async read(position: number): Promise<void> {
    this.#reads += 1;
    const read = this.#reads;
    try {
      const first = await this.#begin(position);
      const last = await this.#end(Math.max(position, first));
      if (read !== this.#reads) return;
      this.turn.value = turnOf(this.#history, first, last);
      this.error.value = undefined;
    } catch (error) {
      if (read === this.#reads) this.error.value = error;
    }
  }

  /** Position of the request that a message answers. */
  async #begin(position: number): Promise<number> {
    for (let at = position; at > 0 && position - at < MAX_MESSAGES; at--) {
      await this.#have(at, Math.max(0, at - STEP));
      if (isRequest(this.#history.get(at))) return at;
    }
    return Math.max(0, position - MAX_MESSAGES);
  }

  async #end(position: number): Promise<number> {
    const end = this.#history.count.peek() - 1;
    for (let at = position; at < end && at - position < MAX_MESSAGES; at++) {
      await this.#have(at + 1, Math.min(end, at + STEP));
      if (isRequest(this.#history.get(at + 1))) return at;
    }
    return Math.min(end, position + MAX_MESSAGES);
  }

  async #have(at: number, other: number): Promise<void> {
    if (this.#history.get(at) === undefined) await this.#history.ensure(Math.min(at, other), Math.max(at, other));
  }
}

function isRequest(message: Message | undefined): boolean {
  return message?.info.role === "user" && viewsOf(message).some(({ kind }) => kind !== "result");
}

/** What ran between these messages, in the order in which it began. */
export function turnOf(history: Pick<History, "get" | "calls">, first: number, last: number): Turn {
  const bars: Bar[] = [];
  let before: number | undefined;
  let [startMs, endMs] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let position = first; position <= last; position++) {
    const message = history.get(position);
    if (message === undefined) continue;
    const at = Date.parse(message.info.timestamp);
    bars.push(...modelBar(message, position, before), ...toolBars(message, position, history));
    [startMs, endMs, before] = [Math.min(startMs, at), Math.max(endMs, at), at];
  }
  for (const bar of bars) [startMs, endMs] = [Math.min(startMs, bar.startMs), Math.max(endMs, bar.endMs)];
  bars.sort((one, other) => one.startMs - other.startMs || one.position - other.position);
  return { first, last, startMs, endMs, bars, isCut: last - first >= MAX_MESSAGES };
}

/** The call of a model that made a message. Without reported times, it began when the message before it was written. */
function modelBar(message: Message, position: number, before: number | undefined): readonly Bar[] {
  const { role, timestamp } = message.info;
  const usage = usageOf(message);
  const writtenMs = Date.parse(timestamp);
  if (usage === undefined && role !== "assistant") return [];
  const base = { kind: "model", position, name: usage?.model || "model", ...(usage && { usage }) } as const;
  const { startMs, durationMs, firstTokenMs } = usage ?? {};
  if (durationMs === undefined) {
    const from = startMs ?? before ?? writtenMs;
    return [{ ...base, startMs: from, endMs: Math.max(from, writtenMs), isEstimate: true }];
  }
  const from = startMs ?? writtenMs - durationMs;
  const first = firstTokenMs === undefined ? {} : { firstTokenMs };
  return [{ ...base, startMs: from, endMs: from + durationMs, ...first, isEstimate: false }];
}

/** The calls of tools in a message. One begins when its message is written, and ends with its result. */
function toolBars(message: Message, position: number, { calls }: Pick<History, "calls">): readonly Bar[] {
  const { timestamp } = message.info;
  return viewsOf(message).flatMap((view) => {
    if (view.kind !== "call") return [];
    const found = view.callId ? calls.result(view.callId) : undefined;
    const { status, durationMs } = outcomeOf(view, timestamp, found, "over");
    const startMs = Date.parse(timestamp);
    const isEstimate = view.durationMs === undefined;
    return [
      {
        kind: "tool" as const,
        position,
        name: view.name,
        startMs,
        endMs: startMs + (durationMs ?? 0),
        status,
        isEstimate,
      },
    ];
  });
}
