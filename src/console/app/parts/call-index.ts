import { type Signal, signal } from "@preact/signals";
import type { CallView, ResultView } from "../../../parts/part-view.js";
import { viewsOf } from "../../../parts/recognise.js";
import type { Message } from "../api/types.js";

export interface FoundCall {
  readonly call: CallView;
  readonly position: number;
  readonly timestamp: string;
}

export interface FoundResult {
  readonly result: ResultView;
  readonly position: number;
  readonly timestamp: string;
}

/** How many calls, and how many results, are remembered. The oldest are forgotten first. */
const MAX_REMEMBERED = 4000;

/** Finds the call of a result and the result of a call, whichever messages they are in. */
export class CallIndex {
  readonly #calls = new Map<string, Signal<FoundCall | undefined>>();
  readonly #results = new Map<string, Signal<FoundResult | undefined>>();

  call(callId: string): FoundCall | undefined {
    return slot(this.#calls, callId).value;
  }

  result(callId: string): FoundResult | undefined {
    return slot(this.#results, callId).value;
  }

  /** Takes in messages that follow each other from this position on. */
  add(messages: readonly Message[], first: number): void {
    for (const [i, message] of messages.entries()) {
      const { timestamp } = message.info;
      const position = first + i;
      for (const view of viewsOf(message)) {
        if (view.kind === "call" && view.callId) set(this.#calls, view.callId, { call: view, position, timestamp });
        if (view.kind === "result" && view.callId)
          set(this.#results, view.callId, { result: view, position, timestamp });
      }
    }
  }

  /** Forgets what is at these positions. */
  forget(first: number, last = Number.POSITIVE_INFINITY): void {
    for (const slots of [this.#calls, this.#results]) {
      for (const one of slots.values()) {
        const position = one.peek()?.position ?? -1;
        if (position >= first && position <= last) one.value = undefined;
      }
    }
  }
}

function slot<T>(slots: Map<string, Signal<T | undefined>>, callId: string): Signal<T | undefined> {
  let found = slots.get(callId);
  if (found === undefined) {
    found = signal<T | undefined>(undefined);
    slots.set(callId, found);
    if (slots.size > MAX_REMEMBERED) slots.delete(slots.keys().next().value as string);
  }
  return found;
}

function set<T extends { position: number }>(
  slots: Map<string, Signal<T | undefined>>,
  callId: string,
  found: T,
): void {
  const one = slot(slots, callId);
  if (one.peek()?.position !== found.position || JSON.stringify(one.peek()) !== JSON.stringify(found))
    one.value = found;
}
