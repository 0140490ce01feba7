import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { QuotaUse } from "../../../../src/storage/history/quota-use.js";

/** A use of something that is stored elsewhere, and a clock that the reads move. */
function useOf(stored: { sessions: number; bytes: number }) {
  const clock = { ms: 0, readMs: 0, reads: 0 };
  const use = new QuotaUse(
    () => clock.ms,
    async () => {
      clock.reads++;
      clock.ms += clock.readMs;
      const read = { ...stored, uncounted: 0 };
      await setImmediate();
      return read;
    },
  );
  return { use, clock };
}

describe("the use of a quota", () => {
  it("is read when it is not known or old, and earlier near the limit", async () => {
    const { use, clock } = useOf({ sessions: 0, bytes: 50 });
    expect(use.hasRoom("bytes", 1, 100)).toBe(false);
    expect(await use.findRoom("bytes", 1, 100)).toBe(true);
    clock.ms = 10_000;
    expect([use.hasRoom("bytes", 40, 100), use.hasRoom("bytes", 41, 100)]).toEqual([true, false]);
    clock.ms = 10_001;
    expect(use.hasRoom("bytes", 1, 100)).toBe(false);
    expect(await use.findRoom("bytes", 50, 100)).toBe(true);
    clock.ms += 1000;
    expect(use.hasRoom("bytes", 50, 100)).toBe(true);
    clock.ms += 1;
    expect(use.hasRoom("bytes", 50, 100)).toBe(false);
    expect(clock.reads).toBe(2);
  });

  it("includes what was added since it was read, and reads again before it refuses", async () => {
    const stored = { sessions: 0, bytes: 0 };
    const { use, clock } = useOf(stored);
    expect(await use.findRoom("bytes", 60, 100)).toBe(true);
    use.addBytes(60);
    expect(use.hasRoom("bytes", 41, 100)).toBe(false);
    stored.bytes = 60;
    expect(await use.findRoom("bytes", 41, 100)).toBe(false);
    expect(await use.findRoom("bytes", 40, 100)).toBe(true);
    stored.bytes = 59;
    expect(await use.findRoom("bytes", 41, 100)).toBe(true);
    expect(clock.reads).toBe(3);
  });

  it("is read for a part of the time at most, however many are refused, but at once after a deletion", async () => {
    const stored = { sessions: 9, bytes: 0 };
    const { use, clock } = useOf(stored);
    clock.readMs = 5;
    expect(await use.findRoom("sessions", 1, 9)).toBe(false);
    stored.sessions = 8;
    clock.ms = 99;
    for (let i = 0; i < 10; i++) expect(await use.findRoom("sessions", 1, 9)).toBe(false);
    expect(clock.reads).toBe(1);
    clock.ms = 100;
    expect(await use.findRoom("sessions", 1, 9)).toBe(true);
    stored.sessions = 9;
    clock.ms += 2000;
    expect(await use.findRoom("sessions", 1, 9)).toBe(false);
    stored.sessions = 8;
    use.expectLess();
    expect(await use.findRoom("sessions", 1, 9)).toBe(true);
  });

  it("is read once for all who ask meanwhile, after they have asked", async () => {
    const stored = { sessions: 1, bytes: 0 };
    const { use, clock } = useOf(stored);
    const first = use.findRoom("sessions", 1, 1);
    stored.sessions = 0;
    const later = Array.from({ length: 5 }, () => use.findRoom("sessions", 1, 1));
    expect(await first).toBe(false);
    expect(await Promise.all(later)).toEqual(Array(5).fill(true));
    expect(clock.reads).toBe(2);
  });

  it("waits for sessions that are being made, which may exist already", async () => {
    const stored = { sessions: 0, bytes: 0 };
    const { use } = useOf(stored);
    expect(await use.findRoom("sessions", 1, 1)).toBe(true);
    const making = deferred<boolean>();
    use.countWhile(making.promise);
    expect(use.isMaking).toBe(true);
    const [existing, other] = [use.findRoom("sessions", 1, 1), use.findRoom("sessions", 2, 1)];
    making.resolve(false);
    expect([await existing, await other]).toEqual([true, false]);
    const failing = Promise.reject<boolean>(new Error("unknown"));
    use.countWhile(failing);
    stored.sessions = 1;
    expect(await use.findRoom("sessions", 1, 1)).toBe(false);
  });

  it("counts a session twice at no time that a refusal relies on", async () => {
    const stored = { sessions: 0, bytes: 0 };
    const { use, clock } = useOf(stored);
    expect(await use.findRoom("sessions", 1, 2)).toBe(true);
    const made = deferred<boolean>();
    use.countWhile(made.promise);
    clock.ms = 20_000;
    // The reading has the session, although nobody knows yet that it was made.
    stored.sessions = 1;
    const second = use.findRoom("sessions", 1, 2);
    made.resolve(true);
    expect(await second).toBe(true);
    expect(clock.reads).toBe(3);
  });
});

function deferred<T>() {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
