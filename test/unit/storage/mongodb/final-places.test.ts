import { beforeEach, expect, it } from "vitest";
import { FinalPlaces } from "../../../../src/storage/mongodb/final-places.js";
import { placeOf } from "../../../../src/storage/mongodb/record-feed.js";

let nowMs: number;
let finals: FinalPlaces;
/** The final place after a time at which this place is the last one. */
const finalAfter = (ms: number, last: number) => {
  nowMs += ms;
  finals.note(last);
  return finals.final;
};

beforeEach(() => {
  nowMs = 1000;
  finals = new FinalPlaces(() => nowMs);
});

it("a place is final when it has been the last one for 150 seconds", () => {
  const [first, second] = [placeOf(1e12), placeOf(1e12 + 60_000)];
  finals.note(first);
  expect(finalAfter(135_000, second)).toBe(first - placeOf(150_000));
  expect(finalAfter(15_000, second)).toBe(first);
  expect(finalAfter(119_999, second)).toBe(first);
  expect(finalAfter(15_001, second)).toBe(second);
});

it("a place far ahead, as after a clock was set forward, makes nothing final sooner", () => {
  const [before, ahead] = [placeOf(1e12), placeOf(1e12 + 3_600_000)];
  finals.note(before);
  expect(finalAfter(1000, ahead)).toBe(before - placeOf(150_000));
  expect(finalAfter(135_000, ahead)).toBe(before - placeOf(150_000));
  expect(finalAfter(14_001, ahead)).toBe(before);
  expect(finalAfter(1000, ahead)).toBe(ahead);
});

it("after a time in which nobody looked, the places say how old they are", () => {
  const place = placeOf(1e12);
  finals.note(place);
  expect(finalAfter(3_600_000, place + placeOf(3_600_000))).toBe(place + placeOf(3_450_000));
  expect(finalAfter(10, place)).toBe(place + placeOf(3_450_000));
});

it("the beginning of an empty feed is final", () => {
  expect(finals.final).toBe(0);
  expect(finalAfter(10, 0)).toBe(0);
});
