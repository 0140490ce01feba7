import { describe, expect, it } from "vitest";
import { isLinearizable, type Observed } from "./linearizable.js";
import { apply, EMPTY_STATE, type ModelState, refuse } from "./model.js";
import type { Operation, Outcome } from "./operations.js";

const NEVER = Number.POSITIVE_INFINITY;
const message = (id: string, ts: number | null = null) => ({ id, ts, body: "x" });
const append = (id: string, ...mids: string[]): Operation => ({
  op: "append",
  id,
  messages: mids.map((mid) => message(mid)),
  expected: null,
});
const count = (id: string): Operation => ({ op: "count", id });
const list = (id: string): Operation => ({
  op: "list",
  id,
  newestFirst: false,
  ancestors: false,
  offset: 0,
  limit: 100,
});
const shown = (mid: string, position: number, origin = "a", session = origin) => ({
  id: mid,
  ts: 5,
  body: "x",
  origin,
  session,
  position,
});

let number = 100;
/** What a client observed: an operation that was called and answered at these moments. */
function saw(operation: Operation, calledAt: number, answeredAt: number, outcome?: Outcome): Observed {
  return {
    operation,
    at: circumstances(),
    client: "c",
    calledAt,
    answeredAt,
    fromMs: calledAt,
    toMs: answeredAt,
    outcome,
  };
}

function circumstances() {
  return { number: number++, now: 5, continued: false };
}

async function stateAfter(...operations: Operation[]): Promise<ModelState> {
  let state = EMPTY_STATE;
  for (const operation of operations) [state] = await apply(state, operation, circumstances());
  return state;
}

const withA = await stateAfter({ op: "create", id: "a", parent: null, title: null }, append("a", "m0"));
const emptyA = { title: "", parent: "", forkPoint: "", inherited: 0, revision: 1 };
const withEmptyA = await stateAfter({ op: "create", id: "a", parent: null, title: null });
const forkOfA = {
  forkPoint: "m0",
  copied: 1,
  session: { title: "forked", parent: "a", forkPoint: "m0", inherited: 1, revision: 1 },
};

describe("the checker accepts", () => {
  it.each<[string, Observed[]]>([
    ["answers in order", [saw(append("a", "m1"), 1, 2, { ids: ["m1"], position: 1 }), saw(count("a"), 3, 4, 2)]],
    [
      "a read that overlaps a write and is early",
      [saw(append("a", "m1"), 1, 9, { ids: ["m1"], position: 1 }), saw(count("a"), 2, 3, 1)],
    ],
    [
      "a read that overlaps a write and is late",
      [saw(append("a", "m1"), 1, 9, { ids: ["m1"], position: 1 }), saw(count("a"), 2, 3, 2)],
    ],
    [
      "an operation of unknown outcome that happened late",
      [saw(append("a", "m1"), 1, NEVER), saw(count("a"), 2, 3, 1), saw(count("a"), 4, 5, 2)],
    ],
    [
      "a session deleted and recreated at the same time",
      [
        saw({ op: "create", id: "a", parent: null, title: null }, 1, 9, emptyA),
        saw({ op: "append", id: "a", messages: [message("m1")], expected: null }, 1, 9, { ids: ["m1"], position: 0 }),
        saw({ op: "delete", id: "a" }, 2, 3, {}),
      ],
    ],
    [
      "an operation of unknown outcome that never happened",
      [saw(append("a", "m1"), 1, NEVER), saw(count("a"), 8, 9, 1)],
    ],
    [
      "a fork whose target is written after its source has grown",
      [
        saw({ op: "fork", id: "a", to: "b", mid: null }, 1, 9, forkOfA),
        saw(append("a", "m1"), 2, 3, { ids: ["m1"], position: 1 }),
        saw(count("b"), 4, 5, refuse("not_found")),
      ],
    ],
  ])("%s", async (name, history) => {
    expect(await isLinearizable(name.includes("recreated") ? withEmptyA : withA, history)).toBe(true);
  });
});

describe("the checker notices", () => {
  it.each<[string, Observed[]]>([
    ["a lost append", [saw(append("a", "m1"), 1, 2, { ids: ["m1"], position: 1 }), saw(count("a"), 3, 4, 1)]],
    [
      "an append that a later read does not see",
      [
        saw(append("a", "m1"), 1, 2, { ids: ["m1"], position: 1 }),
        saw(list("a"), 3, 4, { messages: [shown("m0", 0)], more: false }),
      ],
    ],
    ["a doubled message", [saw(append("a", "m1"), 1, 2, { ids: ["m1"], position: 1 }), saw(count("a"), 3, 4, 3)]],
    [
      "two messages at one place",
      [
        saw(append("a", "m1"), 1, 9, { ids: ["m1"], position: 1 }),
        saw(append("a", "m2"), 1, 9, { ids: ["m2"], position: 1 }),
      ],
    ],
    [
      "messages out of order",
      [
        saw(append("a", "m1"), 1, 2, { ids: ["m1"], position: 1 }),
        saw(append("a", "m2"), 3, 4, { ids: ["m2"], position: 2 }),
        saw(list("a"), 5, 6, { messages: [shown("m0", 0), shown("m2", 1), shown("m1", 2)], more: false }),
      ],
    ],
    [
      "half a batch",
      [saw(append("a", "m1", "m2"), 1, 9, { ids: ["m1", "m2"], position: 1 }), saw(count("a"), 2, 3, 2)],
    ],
    ["half a batch of unknown outcome", [saw(append("a", "m1", "m2"), 1, NEVER), saw(count("a"), 2, 3, 2)]],
    [
      "a read that goes back in time",
      [saw(append("a", "m1"), 1, NEVER), saw(count("a"), 2, 3, 2), saw(count("a"), 4, 5, 1)],
    ],
    [
      "a refusal from a stale count",
      [
        saw(append("a", "m1"), 1, 2, { ids: ["m1"], position: 1 }),
        saw({ ...append("a", "m2"), expected: 2 } as Operation, 3, 4, refuse("aborted")),
      ],
    ],
    ["an undo that restores what never existed", [saw({ op: "restore", id: "a" }, 1, 2, { restored: 1 })]],
    [
      "a fork with a message that its source got after the fork was answered",
      [
        saw({ op: "fork", id: "a", to: "b", mid: null }, 1, 2, forkOfA),
        saw(append("a", "m1"), 3, 4, { ids: ["m1"], position: 1 }),
        saw(list("b"), 5, 6, { messages: [shown("m0", 0, "a", "b"), shown("m1", 1, "a", "b")], more: false }),
      ],
    ],
    [
      "a fork of a state that never existed",
      [
        saw({ op: "truncate", id: "a", mid: "m0" }, 1, 2, { removed: 0 }),
        saw({ op: "fork", id: "a", to: "b", mid: null }, 3, 4, { ...forkOfA, copied: 0 }),
      ],
    ],
    ["an unknown session that is found", [saw(count("b"), 1, 2, 0)]],
  ])("%s", async (_, history) => {
    expect(await isLinearizable(withA, history)).toBe(false);
  });
});

describe("pages", () => {
  const first = (at: number): Observed => ({
    ...saw({ ...list("a"), limit: 1 } as Operation, at, at + 1, { messages: [shown("m0", 0)], more: false }),
    at: { number: 7, now: 5, continued: true },
  });
  const next = (at: number, outcome: Outcome): Observed =>
    saw({ op: "page", id: "a", newestFirst: false, limit: 1, after: 7, mid: "m0" }, at, at + 1, outcome);

  it("continue after the last message of the page before", async () => {
    const grown = saw(append("a", "m1"), 3, 4, { ids: ["m1"], position: 1 });
    expect(await isLinearizable(withA, [first(1), grown, next(5, { messages: [shown("m1", 1)], more: false })])).toBe(
      true,
    );
    expect(await isLinearizable(withA, [first(1), grown, next(5, { messages: [shown("m0", 0)], more: false })])).toBe(
      false,
    );
    expect(await isLinearizable(withA, [first(1), grown, next(5, { messages: [], more: false })])).toBe(false);
  });

  it("are refused when the session was recreated", async () => {
    const anew = [
      saw({ op: "delete", id: "a" }, 3, 4, {}),
      saw({ op: "create", id: "a", parent: null, title: null }, 5, 6, emptyA),
    ];
    expect(await isLinearizable(withA, [first(1), ...anew, next(7, refuse("invalid_argument"))])).toBe(true);
    expect(await isLinearizable(withA, [first(1), ...anew, next(7, { messages: [], more: false })])).toBe(false);
  });
});
