import { describe, expect, it } from "vitest";
import { type Final, findViolations, type Seen, type SeenAppend } from "./chaos-checker.js";

const NEVER = Number.POSITIVE_INFINITY;
let clock = 0;

function append(position: number, ...ids: string[]): SeenAppend {
  clock += 2;
  return { kind: "append", session: "s", ids, position, calledAt: clock, answeredAt: clock + 1 };
}

function count(value: number, calledAt = clock + 2, answeredAt = calledAt + 1): Seen {
  clock = calledAt;
  return { kind: "count", session: "s", count: value, calledAt, answeredAt };
}

function list(offset: number, limit: number, ...ids: string[]): Seen {
  clock += 2;
  return { kind: "list", session: "s", offset, limit, ids, calledAt: clock, answeredAt: clock + 1 };
}

function final(...ids: string[]): Final {
  return { ids, count: ids.length };
}

function violations(history: readonly Seen[], ids: readonly string[], more: readonly [string, Final[]][] = []) {
  return findViolations(history, new Map([["s", [final(...ids), final(...ids)]], ...more]));
}

/** A history with appends of m1, of m2 and m3 in one batch, and of m4, whose answer was lost. */
function history(): Seen[] {
  clock = 0;
  return [
    append(0, "m1"),
    count(1),
    append(1, "m2", "m3"),
    list(1, 5, "m2", "m3"),
    { ...append(-1, "m4"), answeredAt: NEVER },
    { kind: "fork", session: "s", target: "f", forkPoint: "m2", copied: 2, calledAt: 50, answeredAt: 51 },
  ];
}

const WHOLE = ["m1", "m2", "m3", "m4"];
const FORK: [string, Final[]] = ["f", [final("m1", "m2")]];

describe("the checker of the chaos test accepts", () => {
  it("a call with a lost answer, whether or not it took effect", () => {
    expect(violations(history(), WHOLE, [FORK])).toEqual([]);
    expect(violations(history(), WHOLE.slice(0, 3), [FORK])).toEqual([]);
  });

  it("an empty page after the end", () => {
    expect(violations([append(0, "m1"), list(40, 5)], ["m1"])).toEqual([]);
  });

  it("concurrent appends in either order", () => {
    const one = { ...append(0, "a"), calledAt: 1, answeredAt: 9 };
    const two = { ...append(1, "b"), calledAt: 2, answeredAt: 8 };
    expect(violations([one, two], ["a", "b"])).toEqual([]);
    expect(
      violations(
        [
          { ...one, position: 1 },
          { ...two, position: 0 },
        ],
        ["b", "a"],
      ),
    ).toEqual([]);
  });

  it("a read during an append, whether or not it shows the message", () => {
    const slow = { ...append(0, "a"), calledAt: 1, answeredAt: 9 };
    expect(violations([slow, count(0, 2, 3), count(1, 4, 5)], ["a"])).toEqual([]);
  });
});

describe("the checker of the chaos test notices", () => {
  const cases: [string, () => string[], RegExp][] = [
    [
      "an acknowledged message that is lost",
      () => violations(history(), ["m1", "m4"], [FORK]),
      /acknowledged but is lost/,
    ],
    ["a message that is stored twice", () => violations(history(), [...WHOLE, "m1"], [FORK]), /stored twice/],
    ["a message that nobody sent", () => violations(history(), [...WHOLE, "m9"], [FORK]), /nobody sent m9/],
    ["a batch that is stored in part", () => violations(history(), ["m1", "m2", "m4"], [FORK]), /only part of m2,m3/],
    [
      "a batch with another message inside",
      () => violations([append(0, "a", "b"), append(2, "c")], ["a", "c", "b"]),
      /together/,
    ],
    [
      "a message that moved",
      () => violations([append(0, "a"), append(1, "b")], ["b", "a"]),
      /acknowledged at 0 but is at 1/,
    ],
    [
      "an order that contradicts real time",
      () => {
        const early = append(0, "a");
        return violations([early, { ...append(-1, "b"), answeredAt: NEVER }], ["b", "a"]);
      },
      /sent after a was acknowledged/,
    ],
    ["a stale count", () => violations([append(0, "a"), append(1, "b"), count(1)], ["a", "b"]), /shows 1 of 2/],
    ["a stale page", () => violations([append(0, "a"), append(1, "b"), list(0, 9, "a")], ["a", "b"]), /shows 1 of 2/],
    [
      "a page with messages in another order",
      () => violations([append(0, "a"), append(1, "b"), list(0, 2, "b", "a")], ["a", "b"]),
      /not part of/,
    ],
    [
      "a read of a message that was not sent yet",
      () => violations([count(1), append(0, "a")], ["a"]),
      /before it was sent/,
    ],
    [
      "a count of more messages than there are",
      () => violations([append(0, "a"), count(2)], ["a"]),
      /there are only 1/,
    ],
    [
      "a read that shows less than an earlier one",
      () => violations([{ ...append(0, "a"), answeredAt: NEVER }, count(1), count(0)], ["a"]),
      /shows 0 messages after one that showed 1/,
    ],
    [
      "a count that differs from the number of messages",
      () => findViolations([], new Map([["s", [{ ids: ["a"], count: 2 }]]])),
      /count is 2/,
    ],
    [
      "processes that return different messages",
      () => findViolations([append(0, "a"), append(1, "b")], new Map([["s", [final("a", "b"), final("b", "a")]]])),
      /processes return different/,
    ],
    ["a fork that lacks a message", () => violations(history(), WHOLE, [["f", [final("m1")]]]), /not the first 2/],
    [
      "a fork with another fork point",
      () =>
        violations(
          history().map((one) => (one.kind === "fork" ? { ...one, copied: 3 } : one)),
          WHOLE,
          [FORK],
        ),
      /ends at m2 after 3/,
    ],
  ];

  it.each(cases)("%s", (_name, find, text) => {
    expect(find().join("\n")).toMatch(text);
  });
});
