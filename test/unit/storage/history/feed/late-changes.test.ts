import { beforeEach, describe, expect, it } from "vitest";
import { LateChanges } from "../../../../../src/storage/history/feed/late-changes.js";
import type { ToldState } from "../../../../../src/storage/history/feed/told-change.js";
import type { Departure, StateChange } from "../../../../../src/storage/history/log-store.js";

const change = (uid: string, place: number) => ({ kind: "state", place, madeAt: 0, record: { uid } }) as StateChange;
const told = (uid: string, place: number) => ({ kind: "state", place, now: { record: { uid } } }) as ToldState;
const departure = (place: number): Departure => {
  return { kind: "left", place, uid: "a", sessionId: "s", past: { owner: "", labels: [] } };
};

describe("changes that become visible late", () => {
  let late: LateChanges;
  /** Makes a look that tells sessions at these places. */
  const look = (nowMs: number, final: number, places: Record<string, number>) => {
    const { place } = late.begin(nowMs);
    for (const [uid, at] of Object.entries(places)) late.tell(told(uid, at));
    late.end(final, nowMs);
    return place;
  };

  beforeEach(() => {
    late = new LateChanges({ usual: 10, placedMs: 1000 }, 50);
  });

  it("are looked for a little before the last place, and every five seconds from the last final one", () => {
    expect(look(0, 60, { a: 100 })).toBe(50);
    expect(look(100, 70, {})).toBe(90);
    expect(late.final).toBe(60);
    expect(look(5000, 95, {})).toBe(60);
    expect(look(5100, 95, {})).toBe(95);
  });

  it("are new until they were told at their place or a later one", () => {
    look(0, 50, { a: 100 });
    expect(late.isNew(change("a", 100))).toBe(false);
    expect(late.isNew(change("a", 101))).toBe(true);
    expect(late.isNew(change("b", 99))).toBe(true);
    expect(late.isNew(departure(99))).toBe(true);
    late.tell({ ...departure(99), now: null });
    expect(late.isNew(departure(99))).toBe(false);
    expect(late.isNew(departure(98))).toBe(true);
  });

  it("are told with the place up to which their session was told before", () => {
    expect(late.tell(told("a", 100))).toBe(50);
    expect(late.tell(told("a", 105))).toBe(100);
    expect(late.tell(told("b", 101))).toBe(50);
  });
});
