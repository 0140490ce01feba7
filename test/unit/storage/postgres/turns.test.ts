import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { Turns } from "../../../../src/storage/postgres/turns.js";

const LONG_MS = 60_000;

/** Work that ends when it is told to. */
function task() {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const run = vi.fn(() => ended);
  return { run, end };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("Turns", () => {
  it("runs the work of one key in the order in which it came, and that of others meanwhile", async () => {
    const turns = new Turns(LONG_MS);
    const [first, second, other] = [task(), task(), task()];
    const all = [turns.take("a", {}, first.run), turns.take("a", {}, second.run), turns.take("b", {}, other.run)];
    await settled();
    expect([first, second, other].map(({ run }) => run.mock.calls.length)).toEqual([1, 0, 1]);
    first.end();
    await all[0];
    await settled();
    expect(second.run).toHaveBeenCalledOnce();
    for (const { end } of [second, other]) end();
    await Promise.all(all);
  });

  it("goes on after work that has failed", async () => {
    const turns = new Turns(LONG_MS);
    const failed = turns.take("a", {}, () => Promise.reject(new Error("failed")));
    await expect(failed).rejects.toThrow("failed");
    expect(await turns.take("a", {}, async () => "answer")).toBe("answer");
  });

  it("lets nobody through when one who waits gives up", async () => {
    const turns = new Turns(LONG_MS);
    const [first, third] = [task(), task()];
    const gone = new AbortController();
    const running = turns.take("a", {}, first.run);
    const second = vi.fn(async () => {});
    const waiting = turns.take("a", { signal: gone.signal }, second);
    gone.abort();
    await expect(waiting).rejects.toMatchObject({ code: "canceled" });
    const last = turns.take("a", {}, third.run);
    await settled();
    expect(third.run).not.toHaveBeenCalled();
    first.end();
    await running;
    third.end();
    await last;
    expect(second).not.toHaveBeenCalled();
  });

  it("ends who waits at the deadline, or with `unavailable` when the time of an operation is over", async () => {
    vi.useFakeTimers();
    try {
      const turns = new Turns(1000);
      const first = task();
      const running = turns.take("a", {}, first.run);
      const codes: string[] = [];
      const note = ({ code }: { code: string }) => void codes.push(code);
      const waiting = [
        turns.take("a", undefined, async () => {}).catch(note),
        turns.take("a", { deadlineMs: Date.now() + 500 }, async () => {}).catch(note),
        turns.take("a", { deadlineMs: Date.now() + 5000 }, async () => {}).catch(note),
      ];
      await vi.advanceTimersByTimeAsync(500);
      expect(codes).toEqual(["deadline_exceeded"]);
      await vi.advanceTimersByTimeAsync(500);
      expect(codes).toEqual(["deadline_exceeded", "unavailable", "unavailable"]);
      first.end();
      await Promise.all([running, ...waiting]);
    } finally {
      vi.useRealTimers();
    }
  });

  it("gives the work what is left of the time", async () => {
    vi.useFakeTimers();
    try {
      const turns = new Turns(1000);
      const first = task();
      const beganMs = Date.now();
      const running = turns.take("a", undefined, first.run);
      const limits = turns.take("a", undefined, async ({ deadlineMs }) => deadlineMs);
      await vi.advanceTimersByTimeAsync(400);
      first.end();
      await running;
      expect(await limits).toBe(beganMs + 1000);
    } finally {
      vi.useRealTimers();
    }
  });

  it("never runs two of one key at once, and everybody who does not give up has a turn", async () => {
    const step = fc.record({
      key: fc.constantFrom("a", "b"),
      givesUp: fc.boolean(),
      ticks: fc.integer({ max: 3, min: 0 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const turns = new Turns(LONG_MS);
        const running = new Map<string, number>();
        const done: boolean[] = [];
        const all = steps.map(async ({ key, givesUp, ticks }, i) => {
          const gone = new AbortController();
          const work = async () => {
            running.set(key, (running.get(key) ?? 0) + 1);
            expect(running.get(key)).toBe(1);
            for (let tick = 0; tick <= ticks; tick++) await null;
            running.set(key, 0);
            done[i] = true;
          };
          for (let tick = 0; tick < i; tick++) await null;
          const turn = turns.take(key, { signal: gone.signal }, work).catch(() => {});
          if (givesUp) gone.abort();
          await turn;
        });
        await Promise.all(all);
        expect(steps.every(({ givesUp }, i) => givesUp || done[i])).toBe(true);
      }),
    );
  });
});
