import { createHash } from "node:crypto";
import { MOST_TOOL_NAME } from "../../../domain/usage-groups.js";
import type { ToolCall } from "../../../parts/tools.js";
import type { Group } from "./group-table.js";

/** How many calls of one session are remembered. The oldest are forgotten first. */
const MOST_REMEMBERED = 100_000;
/** Longer ids are remembered by a digest. */
const LONG_ID = 128;

/** A call that was counted, one outside of the time that is counted, or one of which only the result is known. */
interface Known {
  /** Null for a call that does not count. */
  readonly group: Group | null;
  /** Whether a message has told of the call itself. */
  readonly isTold: boolean;
  hasFailed: boolean;
  hasEnded: boolean;
}

/** Remembers the calls of one session, so that each is counted once, and as failed if its result says so. */
export class CallOutcomes {
  readonly #calls = new Map<string, Known>();
  /** How many calls have no end yet. */
  #open = 0;

  /** Whether a later message may still say how a call ended that counts. */
  get hasOpen(): boolean {
    return this.#open > 0;
  }

  /** Adds a call that a message tells of. `groupOf` is asked once, and returns null for a call that does not count. */
  tell({ callId, status }: Pick<ToolCall, "callId" | "status">, groupOf: () => Group | null): void {
    const hasFailed = status === "failed";
    const hasEnded = hasFailed || status === "done" || status === "denied";
    const key = keyOf(callId);
    const known = callId === "" ? undefined : this.#calls.get(key);
    if (known?.isTold) {
      this.#end(known, hasEnded, hasFailed);
      return;
    }
    const group = groupOf();
    if (group !== null) group.calls++;
    const call = { group, isTold: true, hasFailed: false, hasEnded: false };
    if (callId !== "") this.#remember(key, call);
    this.#end(call, hasEnded || known !== undefined, hasFailed || known !== undefined, callId !== "");
  }

  /** Adds the result of a call, which may stand before the call where the clocks of writers differ. */
  end(callId: string, hasFailed: boolean): void {
    if (callId === "") return;
    const key = keyOf(callId);
    const known = this.#calls.get(key);
    if (known !== undefined) this.#end(known, true, hasFailed);
    else if (hasFailed) this.#remember(key, { group: null, isTold: false, hasFailed, hasEnded: true });
  }

  #remember(key: string, call: Known): void {
    this.#calls.delete(key);
    this.#calls.set(key, call);
    if (call.group !== null) this.#open++;
    if (this.#calls.size <= MOST_REMEMBERED) return;
    const [oldest] = this.#calls;
    if (oldest === undefined) return;
    this.#calls.delete(oldest[0]);
    this.#end(oldest[1], true, false);
  }

  #end(call: Known, hasEnded: boolean, hasFailed: boolean, isRemembered = true): void {
    if (hasEnded && !call.hasEnded) {
      call.hasEnded = true;
      if (call.group !== null && isRemembered) this.#open--;
    }
    if (!hasFailed || call.hasFailed) return;
    call.hasFailed = true;
    if (call.group !== null) call.group.failedCalls++;
  }
}

/** The part of a tool's name that tells tools apart. */
export function toolName(name: string): string {
  return name.length <= MOST_TOOL_NAME ? name : name.slice(0, MOST_TOOL_NAME).replace(/[\uD800-\uDBFF]$/, "");
}

function keyOf(callId: string): string {
  return callId.length <= LONG_ID ? callId : createHash("sha256").update(callId).digest("base64");
}
