import { describe, expect, it } from "vitest";
import type { EngineOptions } from "../../../../../src/storage/history/history-options.js";
import { type Process, World } from "../../../../simulation/world.js";

interface Placed {
  readonly id: string;
  readonly at: number;
}

/** A sorted array beside the session under test. Appends go to both, and their contents are compared. */
class Beside {
  readonly world: World;
  readonly process: Process;
  #all: Placed[] = [];

  constructor(kind: "atomic" | "weak", options: EngineOptions) {
    this.world = new World(kind);
    this.process = this.world.process(options);
  }

  /** Appends messages with these timestamps, and checks the answered position of the first one and the history. */
  async append(...times: readonly number[]): Promise<void> {
    const messages = times.map((at, i) => ({ id: `m${this.#all.length + i}`, at }));
    const answer = await this.process.say("a", ...messages.map(({ id, at }) => `${id}@${at}`));
    for (const message of messages) {
      const place = this.#all.findIndex(({ at }) => at > message.at);
      this.#all.splice(place < 0 ? this.#all.length : place, 0, message);
    }
    expect(answer).toBe(`at ${this.#all.findIndex(({ id }) => id === messages[0]?.id)}`);
    expect(await this.world.process().ids("a")).toBe(this.#all.map(({ id }) => id).join(" "));
  }
}

const SIZES = [
  { maxSegments: 8, mergeSegments: 3, chunk: 2 },
  { maxSegments: 4, mergeSegments: 2, chunk: 3 },
  { maxSegments: 6, mergeSegments: 9, chunk: 1 },
] satisfies readonly EngineOptions[];

describe.each(["atomic", "weak"] as const)("older messages on the %s store", (kind) => {
  it.each(SIZES)("go to their places one by one while segments are merged (%o)", async (sizes) => {
    const beside = new Beside(kind, sizes);
    await beside.process.createSession({ sessionId: "a" });
    await beside.append(10, 20, 30, 40, 50, 60, 70, 80, 90);
    for (const at of [15, 85, 35, 55, 25, 15, 65, 9, 75, 45]) {
      await beside.append(at);
      const { segments, namedLogs } = beside.world.record("a");
      expect(segments.length).toBeLessThanOrEqual(sizes.maxSegments);
      expect(namedLogs.filter(({ purpose }) => purpose === "copy")).toEqual([]);
    }
    await beside.append(99);
  });

  it.each(SIZES)("go to many places at once, among and after existing messages (%o)", async (sizes) => {
    const beside = new Beside(kind, sizes);
    await beside.process.createSession({ sessionId: "a" });
    await beside.append(10, 20, 30, 40, 50, 60);
    await beside.append(5, 15, 15, 25, 45, 70, 80);
    await beside.append(20, 60, 70);
    expect(beside.world.record("a").namedLogs.filter(({ purpose }) => purpose === "copy")).toEqual([]);
    await beside.append(1, 2, 3);
  });
});
