import { beforeEach, describe, expect, it } from "vitest";
import type { DraftStep } from "../../../../../src/storage/history/drafts/draft-entry.js";
import { toEntry } from "../../../../../src/storage/history/drafts/draft-entry.js";
import { type DraftEvent, DraftTail } from "../../../../../src/storage/history/follow/draft-tail.js";
import type { Head, HistoryContext } from "../../../../../src/storage/history/heads.js";
import type { DraftRef, Entry, RangeOptions, SessionRecord } from "../../../../../src/storage/history/log-store.js";

const STARTED: DraftStep = { kind: "started", messageId: "d", role: "assistant", parts: [] };
const FINISHED: DraftStep = { kind: "finished", deltas: [] };
const DISCARDED: DraftStep = { kind: "discarded" };

const deltaOf = (text: string) => ({ kind: "append_text", partId: "", text }) as const;
const extended = (text: string): DraftStep => ({ kind: "extended", deltas: [deltaOf(text)] });

/** The entries of each log. */
let rows: Map<string, Entry[]>;
/** The options of every read of a range. */
let asked: (RangeOptions | undefined)[];
/** The number of entries that fit into the answer to a read. */
let most: number;
let news: DraftEvent[];
let tail: DraftTail;

beforeEach(() => {
  rows = new Map();
  asked = [];
  most = 9;
  news = [];
  const store = {
    async readRange(log: string, first: number, last: number, options?: RangeOptions) {
      asked.push(options);
      const range = (rows.get(log) ?? []).filter(({ seq }) => seq >= first && seq <= last).slice(0, options?.limit);
      return { entries: range.slice(0, most), cut: range.length > most };
    },
    async findById(logs: readonly string[], ids: readonly string[]) {
      return logs.flatMap((log) => rows.get(log) ?? []).filter(({ id }) => ids.includes(id));
    },
  };
  const context = { store, options: { chunk: 2, limits: { batchBytes: 7 } } } as unknown as HistoryContext;
  tail = new DraftTail(context, "s", (one) => news.push(one));
});

function write(log: string, ...steps: readonly DraftStep[]): void {
  const entries = rows.get(log) ?? [];
  rows.set(log, entries);
  for (const step of steps) {
    entries.push(toEntry(step, { log, seq: entries.length + 1, sessionId: "s", timestampMicros: 1 }));
  }
}

/** The head of a session with these drafts, and with `seq` messages in its open log. */
function headOf(drafts: readonly Partial<DraftRef>[], seq = 0): Head {
  const record = { sessionId: "s", log: "u.1", segments: [], drafts } as unknown as SessionRecord;
  return { record, seq, count: seq } as Head;
}

const D: Partial<DraftRef> = { log: "u.d", messageId: "d" };

describe("drafts as followers see them", () => {
  it("are reported once, with all their content, however little is read at a time", async () => {
    write("u.d", STARTED, ...["a", "b", "c", "d"].map(extended));
    await tail.look(headOf([D]));
    await tail.look(headOf([D]));
    const parts = [{ id: "", type: "text", text: "abcd" }];
    expect(news).toMatchObject([{ kind: "draft", draft: { message: { id: "d", parts }, version: 5 } }]);
    expect([tail.has("u.d"), tail.has("u.e"), tail.known.open.length]).toEqual([true, false, 1]);
    expect(new Set(asked.map((one) => JSON.stringify(one)))).toEqual(new Set(['{"limit":2,"maxBytes":7}']));
  });

  it("are read to the end when a read was cut short because of the size of the entries", async () => {
    most = 1;
    write("u.d", STARTED, extended("a"), extended("b"));
    await tail.look(headOf([D]));
    expect(news).toMatchObject([{ draft: { version: 3 } }]);
  });

  it("are reported again when they grow, only with what was added", async () => {
    write("u.d", STARTED);
    await tail.look(headOf([D]));
    news.length = 0;
    write("u.d", extended("a"), extended("b"));
    expect(await tail.lookAt("u.d")).toBe(true);
    expect(news).toEqual([
      { kind: "draft_extended", messageId: "d", version: 3, deltas: [deltaOf("a"), deltaOf("b")] },
    ]);
    news.length = 0;
    write("u.d", FINISHED);
    expect(await tail.lookAt("u.d")).toBe(false);
    expect(news).toEqual([]);
    expect(tail.has("u.d")).toBe(true);
  });

  it("end when they are discarded, and do not count as open when they are unknown", async () => {
    write("u.d", STARTED);
    await tail.look(headOf([D]));
    write("u.d", DISCARDED);
    expect(await tail.lookAt("u.d")).toBe(false);
    expect(news.at(-1)).toEqual({ kind: "draft_ended", messageId: "d", finished: false });
    expect([tail.has("u.d"), await tail.lookAt("u.d")]).toEqual([false, false]);
  });

  it.each([
    ["has not been written yet", []],
    ["was discarded", [STARTED, DISCARDED]],
  ])("do not include one that %s", async (_, steps) => {
    write("u.d", ...steps);
    await tail.look(headOf([D]));
    expect(news).toEqual([]);
    expect(tail.known.open).toEqual([]);
  });

  it("include a finished one only while its message is not in the history", async () => {
    write("u.d", STARTED, FINISHED);
    const [start] = rows.get("u.d") ?? [];
    rows.set("u.1", [{ ...start, log: "u.1", seq: 1 } as Entry]);
    await tail.look(headOf([D], 1));
    expect(news).toEqual([]);
    await tail.look(headOf([D], 0));
    expect(news).toMatchObject([{ kind: "draft", draft: { message: { id: "d" } } }]);
  });

  it("end when their own message is appended, and with no other message", async () => {
    write("u.d", STARTED, FINISHED);
    await tail.look(headOf([D]));
    const message = { id: "x", sessionId: "s", role: "assistant", parts: [], timestampMicros: 1, originSessionId: "s" };
    tail.appended(message);
    expect(tail.has("u.d")).toBe(true);
    tail.appended({ ...message, id: "d" });
    expect(news.at(-1)).toEqual({ kind: "draft_ended", messageId: "d", finished: true });
  });
});

describe("a draft after its session's history was reported", () => {
  const other: Partial<DraftRef> = { log: "u.e", messageId: "e" };

  it.each([
    ["stays open as long as the record says so", [], [other, D], null],
    ["was finished if the record says so", [], [other, { ...D, end: "finished" } as const], true],
    ["was discarded if the record says so", [FINISHED], [other, { ...D, end: "discarded" } as const], false],
    ["was finished if the record no longer names it and its last entry says so", [FINISHED], [other], true],
    ["was discarded if the record no longer names it and its log holds no end", [], [other], false],
  ] satisfies [string, DraftStep[], Partial<DraftRef>[], boolean | null][])(
    "%s",
    async (_, steps, drafts, finished) => {
      write("u.d", STARTED, ...steps);
      await tail.look(headOf([D]));
      news.length = 0;
      tail.settle(headOf(drafts).record);
      expect(news).toEqual(finished === null ? [] : [{ kind: "draft_ended", messageId: "d", finished }]);
      expect(tail.has("u.d")).toBe(finished === null);
    },
  );
});
