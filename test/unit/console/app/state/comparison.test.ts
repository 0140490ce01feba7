import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";

interface Comparer {
  readonly comparison: { readonly value: { readonly common: number; readonly columns: readonly Column[] } | undefined };
  read(sessionIds: readonly string[], signal: AbortSignal): Promise<void>;
}

interface Column {
  readonly session: { readonly sessionId: string };
  readonly count: number;
  readonly total: { readonly costs: unknown };
  readonly since: { readonly costs: unknown } | undefined;
  readonly next: unknown;
}

interface Taken {
  readonly isSince: boolean;
  readonly rivals: string;
  readonly isRival: readonly boolean[];
  readonly sums: readonly object[];
}

let newComparer: () => Comparer;
let takenBy: (comparison: object) => Taken;
let leastOf: (numbers: readonly number[], isRival: readonly boolean[]) => readonly boolean[];
let asked = 0;
/** Ids of messages by session. */
const HISTORIES: Readonly<Record<string, readonly string[]>> = {
  parent: [...Array.from({ length: 1000 }, (_, i) => `p${i}`), "mine"],
  fork: [...Array.from({ length: 700 }, (_, i) => `p${i}`), "f1", "f2"],
  other: ["o0"],
};
const USAGE: Readonly<Record<string, object>> = {
  parent: { usage: { calls: "9", costs: [{ currency: "USD", amount: "5" }] }, inheritedCount: "0" },
  fork: {
    usage: { calls: "1", costs: [{ currency: "USD", amount: "0.25" }] },
    inheritedUsage: { calls: "6", costs: [{ currency: "USD", amount: "3" }] },
    inheritedCount: "700",
  },
  other: { inheritedCount: "0" },
};

beforeAll(async () => {
  vi.stubGlobal("sessionStorage", { getItem: () => null });
  vi.stubGlobal("location", { hash: "" });
  vi.stubGlobal("document", { baseURI: "http://localhost/" });
  vi.stubGlobal("fetch", async (address: string | URL) => {
    const { pathname, searchParams } = new URL(`${address}`, "http://localhost/");
    const [, , sessionId = "", kind] = pathname.split("/");
    const ids = HISTORIES[sessionId] ?? [];
    if (kind === undefined) {
      return Response.json({ sessionId, messageCount: `${ids.length}`, ...USAGE[sessionId] });
    }
    asked += 1;
    const id = ids[Number(searchParams.get("offset") ?? 0)];
    const message = { info: { id, role: "user", timestamp: "" }, parts: [{ id: "", type: "text", text: `say ${id}` }] };
    return Response.json({ messages: id === undefined ? [] : [message], nextPageToken: "" });
  });
  // A name that the compiler does not follow, because it checks the page with the types of browsers.
  const page = "../../../../../src/console/app/state/comparison.js";
  const { Comparer, ...functions } = await import(page);
  newComparer = () => new Comparer();
  ({ takenBy, leastOf } = functions);
});
afterAll(() => void vi.unstubAllGlobals());
beforeEach(() => {
  asked = 0;
});

async function compare(...sessionIds: readonly string[]) {
  const comparer = newComparer();
  await comparer.read(sessionIds, new AbortController().signal);
  return comparer.comparison.value;
}

it("finds where a fork and its parent part, and what each has cost since", async () => {
  const found = await compare("parent", "fork", "fork");
  expect(found?.common).toBe(700);
  expect(found?.columns.map(({ session, count }) => [session.sessionId, count])).toEqual([
    ["parent", 1001],
    ["fork", 702],
  ]);
  const usd = (amount: string) => [{ currency: "USD", amount }];
  expect(found?.columns.map(({ total, since }) => [total.costs, since?.costs])).toEqual([
    [usd("5"), usd("2")],
    [usd("3.25"), usd("0.25")],
  ]);
  expect(found?.columns.map(({ next }) => next)).toEqual([
    { speaker: "user", text: "say p700" },
    { speaker: "user", text: "say f1" },
  ]);
  // The place where the fork began is tried first: two places, and the next message of each.
  expect(asked).toBeLessThanOrEqual(6);
});

it("compares sessions that have nothing in common", async () => {
  const found = await compare("parent", "other");
  expect([found?.common, found?.columns.map(({ since }) => since?.costs)]).toEqual([
    0,
    [[{ currency: "USD", amount: "5" }], []],
  ]);
});

/** A session beside others, with the calls of models that it has made since they part. */
const beside = (sessionId: string, parentId: string, calls: number | undefined) => ({
  session: { sessionId, parentId },
  total: { calls: `${3 + (calls ?? 0)}` },
  since: calls === undefined ? undefined : { calls: `${calls}` },
});

it.each([
  ["forks with each other and not with their parent", ["", "p", "p"], [4, 2, 2], "forks", [false, true, true]],
  ["the only fork that went on with its parent", ["", "p", "p"], [4, 2, 0], "sessions", [true, true, false]],
  ["a fork with its parent", ["", "p"], [4, 2], "sessions", [true, true]],
  ["forks whose parent is not beside them", ["gone", "gone"], [4, 2], "sessions", [true, true]],
] as const)("compares %s", (_, parents, calls, rivals, isRival) => {
  const columns = parents.map((parentId, i) => beside(i === 0 ? "p" : `s${i}`, parentId, calls[i]));
  const taken = takenBy({ columns, common: 5 });
  expect(taken).toMatchObject({ isSince: true, rivals, isRival });
  expect(taken.sums).toEqual(columns.map(({ since }) => since));
});

it("compares what sessions took in all when they have nothing in common, or it is not known since when", () => {
  const columns = [beside("a", "", 1), beside("b", "", undefined)];
  for (const common of [0, 5]) {
    expect(takenBy({ columns, common })).toMatchObject({ isSince: false, sums: columns.map(({ total }) => total) });
  }
});

it.each([
  [
    [3, 1, 2],
    [false, true, false],
  ],
  [
    [3, 0, 2],
    [false, false, true],
  ],
  [
    [2, 2, 2],
    [false, false, false],
  ],
  [
    [2, 0, 0],
    [false, false, false],
  ],
])("finds the least of %j", (numbers, expected) => {
  expect(leastOf(numbers, [true, true, true])).toEqual(expected);
});

it("does not call the least what is no rival", () => {
  expect(leastOf([1, 3, 2], [false, true, true])).toEqual([false, false, true]);
});
