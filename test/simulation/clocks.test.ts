import { expect, it } from "vitest";
import { SimClock } from "./clocks.js";
import { seededRandom } from "./random.js";

function clockAt(kind: SimClock["kind"]) {
  const time = { ms: 1000 };
  return { time, clock: new SimClock(kind, () => time.ms, 500) };
}

it("a clock follows the true time, with its own offset", () => {
  const { time, clock } = clockAt("wall");
  expect(clock.read()).toBe(1500);
  time.ms += 40;
  expect(clock.read()).toBe(1540);
});

it("a clock that stood still continues afterwards, without the time for which it stood still", () => {
  const { time, clock } = clockAt("steady");
  clock.standUntil(1100);
  time.ms = 1090;
  expect(clock.read()).toBe(1500);
  time.ms = 1130;
  expect(clock.read()).toBe(1530);
});

it("a wall clock may jump either way, the others only ahead", () => {
  const { clock: wall } = clockAt("wall");
  wall.jump(-700);
  expect(wall.read()).toBe(800);
  const { clock: steady } = clockAt("steady");
  steady.jump(-700);
  expect(steady.read()).toBe(2200);
});

it("a clock drifts until it is healed", () => {
  const { time, clock } = clockAt("wall");
  clock.goAt(0.5);
  time.ms += 100;
  expect(clock.read()).toBe(1550);
  clock.heal(1600);
  time.ms += 100;
  expect(clock.read()).toBe(1700);
});

it.each(["steady", "operations"] as const)("no fault turns back a clock of the kind %s", (kind) => {
  const { time, clock } = clockAt(kind);
  const random = seededRandom(1);
  const weather = { fault: 1, suspended: 0, sizesMs: [1, 50, 3000] };
  for (let i = 0, last = clock.read(); i < 1000; i++) {
    time.ms += random.int(5);
    clock.fail(random, weather);
    expect(clock.read()).toBeGreaterThanOrEqual(last);
    last = clock.read();
  }
});
