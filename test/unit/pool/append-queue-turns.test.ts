import { getEventListeners } from "node:events";
import { beforeEach, describe, expect, it } from "vitest";
import type { Call } from "../../../src/domain/call.js";
import { DEFAULT_LIMITS, type Limits } from "../../../src/domain/limits.js";
import { messageSize } from "../../../src/domain/message-size.js";
import { AppendQueue } from "../../../src/pool/append-queue.js";
import { TurnLock } from "../../../src/pool/turn-lock.js";
import type { LogResult } from "../../../src/storage/storage-provider.js";
import { message } from "../../contract/storage-provider/fixtures.js";
import { poll } from "../../support/poll.js";

let turns: string[];
let letTurnEnd: () => void;
let queue: AppendQueue;

/** A queue in which each turn lasts until the test calls `letTurnEnd`. */
function queueWith(limits: Partial<Limits>): AppendQueue {
  return new AppendQueue(new TurnLock(), { ...DEFAULT_LIMITS, ...limits }, async (_, appends) => {
    turns.push(appends.map(({ messages }) => messages[0]?.id).join(" "));
    await new Promise<void>((resolve) => {
      letTurnEnd = resolve;
    });
    return appends.map(({ messages }) => ({ ok: true, result: resultOf(messages[0]?.id ?? "") }));
  });
}

function resultOf(id: string): LogResult {
  return { messageIds: [id], position: 0 };
}

function append(id: string, options?: Call): Promise<LogResult> {
  return queue.append("s", { messages: [message(id)], options });
}

async function turn(expected: string): Promise<void> {
  await poll(() => turns.at(-1) === expected, `the turn ${expected} is being stored`);
}

beforeEach(() => {
  turns = [];
  queue = queueWith({});
});

describe("a queue of appends", () => {
  it("keeps the order of appends that come while others wait for their turns", async () => {
    queue = queueWith({ batchMessages: 1 });
    const answers = ["a", "b"].map((id) => append(id));
    await turn("a");
    answers.push(append("c"));
    for (const id of ["a", "b", "c"]) {
      await turn(id);
      letTurnEnd();
    }
    expect(await Promise.all(answers)).toEqual(["a", "b", "c"].map(resultOf));
    expect(turns).toEqual(["a", "b", "c"]);
  });

  it("does not store an append whose call ended before it was queued", async () => {
    await expect(append("gone", { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: "canceled" });
    const next = append("next");
    await turn("next");
    letTurnEnd();
    expect(await next).toEqual(resultOf("next"));
    expect(turns).toEqual(["next"]);
  });

  it("answers the first append of a turn when its call ends, even if the queue was idle before it", async () => {
    const ending = new AbortController();
    const impatient = append("a", { signal: ending.signal });
    const patient = append("b");
    await turn("a b");
    ending.abort();
    await expect(impatient).rejects.toMatchObject({ code: "canceled" });
    letTurnEnd();
    expect(await patient).toEqual(resultOf("b"));
  });

  it("stops watching a call once its append is answered", async () => {
    const first = append("first");
    await turn("first");
    const { signal } = new AbortController();
    const second = append("second", { signal });
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    letTurnEnd();
    await first;
    await turn("second");
    letTurnEnd();
    await second;
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("keeps the order of appends that come while an earlier one is being stored", async () => {
    queue = queueWith({ batchMessages: 1 });
    const all = [append("first")];
    await turn("first");
    all.push(append("a"), append("b"));
    letTurnEnd();
    await turn("a");
    all.push(append("c"));
    for (const next of ["b", "c"]) {
      letTurnEnd();
      await turn(next);
    }
    letTurnEnd();
    await Promise.all(all);
    expect(turns).toEqual(["first", "a", "b", "c"]);
  });

  it("removes an append whose call ends while it waits, so that it takes no place in a turn", async () => {
    queue = queueWith({ batchMessages: 2 });
    const first = append("first");
    await turn("first");
    const ending = new AbortController();
    const gone = append("gone", { signal: ending.signal });
    const others = [append("b"), append("c")];
    ending.abort();
    await expect(gone).rejects.toMatchObject({ code: "canceled" });
    letTurnEnd();
    await turn("b c");
    letTurnEnd();
    await Promise.all([first, ...others]);
    expect(turns).toEqual(["first", "b c"]);
  });

  it("keeps waiting appends in their places when the call of one that is being stored ends", async () => {
    queue = queueWith({ batchMessages: 2 });
    const first = append("first");
    await turn("first");
    const ending = new AbortController();
    const impatient = append("a", { signal: ending.signal });
    const others = [append("b"), append("c")];
    letTurnEnd();
    await turn("a b");
    ending.abort();
    await expect(impatient).rejects.toMatchObject({ code: "canceled" });
    letTurnEnd();
    await turn("c");
    letTurnEnd();
    await Promise.all([first, ...others]);
  });

  it("fills a turn up to the last byte", async () => {
    queue = queueWith({ batchBytes: messageSize(message("a")) + messageSize(message("b")) });
    const first = append("f");
    await turn("f");
    const others = [append("a"), append("b")];
    letTurnEnd();
    await turn("a b");
    letTurnEnd();
    await Promise.all([first, ...others]);
  });
});
