import { describe, expect, it } from "vitest";
import type { SessionFilter } from "../../../src/domain/page.js";
import { compareCodePoints, type SessionOrder, titleWords } from "../../../src/domain/session-order.js";
import type {
  LogStore,
  NextRecord,
  RecordQueries,
  RecordQuery,
  SessionRecord,
} from "../../../src/storage/history/log-store.js";
import { comparePlaces, meets, placeIn } from "../../../src/storage/history/record-queries.js";
import { created, replaced, T0 } from "./fixtures.js";
import type { LogStoreSubject } from "./subject.js";

const ORDERS: readonly SessionOrder[] = (["update_time", "create_time", "title"] as const).flatMap((by) => [
  { by, descending: true },
  { by, descending: false },
]);
const ALL: SessionFilter = { parentId: "" };

/** Titles whose order or words a careless store would get wrong. */
const TITLES = [
  ...["", " ", "a", "A", "á", "a\u0301", "ä", "b", "B a", "a b", "a b c", "Straße nach Köln", "STRASSE nach koln"],
  ...["😀 a", "\uFF5E a", "\u{10FFFF}", "\uE000", "a\u0000b", "a\u0001b", "a b", "\u0001", "\u0002a", "\u001f a"],
  ...[
    "$set a",
    "a.b",
    "__proto__",
    "null",
    "%a_",
    "ﬁ a",
    "Σας",
    "σασ",
    "日本語のテスト",
    "İstanbul",
    "a\u0300\u0301\u0302",
  ],
  ...[`a ${"x".repeat(300)}1`, `a ${"x".repeat(300)}0`, `${"😀".repeat(70)}b`, `${"😀".repeat(70)}a`],
];
const IDS = ["Z", "z", "é", "e\u0301", "😀", "\uFF5E", "\uE000", "10", "9", " ", "-", "~"];
const OWNERS = [undefined, "o", "O", "öwner"];
const PARENTS = ["", "", "p", "q"];

export function describeRecordQueries(subject: LogStoreSubject): void {
  describe("queries", () => {
    it("find and count what meets all conditions in every order, whatever the size of pages and the effort", async (context) => {
      const queries = queriesOf(subject.store);
      if (queries === undefined) return context.skip("the store has no queries");
      const random = numbers(20_251_128);
      const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
      const given = Array.from({ length: 48 }, (_, i) => ({
        sessionId: `${pick(IDS)}${i}`,
        title: pick(TITLES),
        owner: pick(OWNERS),
        parentId: pick(PARENTS),
        updateTimeMicros: T0 + Math.floor(random() * 8),
        createTimeMicros: T0 - Math.floor(random() * 8),
        labels: labelsOf(["k=1", "l=2", "m=3"].filter(() => random() < 0.6)),
      }));
      let records = await Promise.all(given.map((one, i) => created(subject.store, `u${i}`, one)));
      for (let round = 0; round < 2; round++) {
        for (let i = 0; i < 14; i++) {
          const filter = {
            parentId: random() < 0.2 ? pick(PARENTS) : "",
            owner: random() < 0.3 ? (pick(OWNERS) ?? "") : undefined,
            labels: ["k=1", "l=2", "m=3", "n=4"].filter((_, at) => random() < (at === 3 ? 0.03 : 0.3)),
            titleWords:
              random() < 0.4
                ? [...new Set([...titleWords(pick(TITLES)), ...(random() < 0.5 ? ["a"] : [])])]
                : undefined,
            updatedSinceMicros: random() < 0.3 ? T0 + Math.floor(random() * 6) : undefined,
            updatedUntilMicros: random() < 0.3 ? T0 + 2 + Math.floor(random() * 6) : undefined,
          };
          const query = { ...filter, order: pick(ORDERS) };
          const limit = 1 + Math.floor(random() * 24);
          const found = await allPages(queries, query, limit, pick([undefined, 10, 100]));
          expect(placesOf(found, query), JSON.stringify(query)).toEqual(wanted(records, query, isByUnit(found, query)));
          const meeting = records.filter((record) => meets(record, filter)).length;
          const most = pick([meeting, meeting + 1, 1000]);
          const counted = await queries.count(filter, most);
          if (counted !== null || most === 1000) expect(counted, JSON.stringify(filter)).toBe(meeting);
        }
        records = await Promise.all(
          records.map((record) =>
            random() < 0.5 ? replaced(subject.store, record, { title: pick(TITLES), owner: pick(OWNERS) }) : record,
          ),
        );
        const dead = records.filter(() => random() < 0.2);
        for (const record of dead) await replaced(subject.store, record, { deleted: true });
        records = records.filter((record) => !dead.includes(record));
      }
    });

    it("return fewer records than a page may hold once they have looked at enough others, and go on", async (context) => {
      const queries = queriesOf(subject.store);
      if (queries === undefined) return context.skip("the store has no queries");
      for (let i = 0; i < 24; i++) {
        const labels = { [i < 12 ? "a" : "b"]: "1", all: "1", ...(i === 0 && { b: "1" }) };
        await created(subject.store, `u${i}`, { title: `t ${i}`, labels, updateTimeMicros: T0 + i });
      }
      for (const order of ORDERS) {
        const query = { parentId: "", labels: ["a=1", "b=1", "all=1"], order };
        const first = await queries.find(query, { limit: 5, lookAt: 5 });
        const found = await allPages(queries, query, 5, 5);
        expect(found.map(({ uid }) => uid)).toEqual(["u0"]);
        if (order.descending) expect(first).toMatchObject({ records: [], next: expect.anything() });
      }
    });

    it("count exactly up to a number, and not beyond it", async (context) => {
      const queries = queriesOf(subject.store);
      if (queries === undefined) return context.skip("the store has no queries");
      const given: Partial<NextRecord> = { owner: "o", labels: { a: "1" }, title: "word", parentId: "p" };
      for (let i = 0; i < 5; i++) await created(subject.store, `u${i}`, given);
      await created(subject.store, "other");
      const filters: readonly SessionFilter[] = [
        { parentId: "p" },
        { parentId: "", owner: "o" },
        { parentId: "", labels: ["a=1"] },
        { parentId: "", titleWords: ["word"] },
        { parentId: "", updatedSinceMicros: T0, owner: "o" },
        { parentId: "p", owner: "o", labels: ["a=1"], titleWords: ["word"], updatedSinceMicros: T0 },
      ];
      for (const filter of filters) {
        expect([await queries.count(filter, 5), await queries.count(filter, 4)], JSON.stringify(filter)).toEqual([
          5,
          null,
        ]);
      }
      expect([await queries.count(ALL, 6), await queries.count(ALL, 5)]).toEqual([6, null]);
      expect(await queries.count({ parentId: "", owner: "nobody" }, 5)).toBe(0);
    });

    it("neither count nor look at what was changed at other times", async (context) => {
      const queries = queriesOf(subject.store);
      if (queries === undefined) return context.skip("the store has no queries");
      for (let i = 0; i < 24; i++) {
        const given = { owner: "o", labels: { a: "1" }, parentId: "p", updateTimeMicros: T0 + i };
        await created(subject.store, `u${i}`, given);
      }
      const [newest, oldest] = ORDERS as [SessionOrder, SessionOrder];
      for (const one of [{}, { owner: "o" }, { labels: ["a=1"] }, { owner: "o", labels: ["a=1"] }, { parentId: "p" }]) {
        const filter = { ...ALL, ...one };
        const [since, until] = [{ updatedSinceMicros: T0 + 20 }, { updatedUntilMicros: T0 + 4 }];
        const between = { updatedSinceMicros: T0 + 10, updatedUntilMicros: T0 + 13 };
        const counts = [since, until, between].map((times) => queries.count({ ...filter, ...times }, 4));
        expect(await Promise.all(counts), JSON.stringify(filter)).toEqual([4, 4, 3]);
        const page = { limit: 2, lookAt: 5 };
        const early = await queries.find({ ...filter, ...until, order: newest }, page);
        expect(early.records.map(({ uid }) => uid)).toEqual(["u3", "u2"]);
        const late = await queries.find({ ...filter, ...since, order: oldest }, page);
        expect(late.records.map(({ uid }) => uid)).toEqual(["u20", "u21"]);
      }
    });

    it("sample the living records with the smallest uids", async (context) => {
      const queries = queriesOf(subject.store);
      if (queries === undefined) return context.skip("the store has no queries");
      const [first] = await Promise.all(["u1", "u3", "u2", "u4"].map((uid) => created(subject.store, uid)));
      await replaced(subject.store, first as SessionRecord, { deleted: true });
      await created(subject.database.namespace("other"), "u0");
      expect((await queries.sample(2)).map(({ uid }) => uid)).toEqual(["u2", "u3"]);
      expect(await queries.sample(9)).toHaveLength(3);
    });

    it("find no session of another namespace", async (context) => {
      const queries = queriesOf(subject.store);
      if (queries === undefined) return context.skip("the store has no queries");
      const given = { title: "word", labels: { a: "1", b: "2" }, owner: "o" };
      await created(subject.database.namespace("other"), "u1", given);
      await created(subject.store, "u2", given);
      for (const order of ORDERS) {
        for (const filter of [ALL, { parentId: "", titleWords: ["word"] }, { parentId: "", labels: ["a=1", "b=2"] }]) {
          expect((await allPages(queries, { ...filter, order }, 9)).map(({ uid }) => uid)).toEqual(["u2"]);
        }
      }
    });

    it("follow a session that is published, moves in time, or has its id used again", async (context) => {
      const queries = queriesOf(subject.store);
      if (queries === undefined) return context.skip("the store has no queries");
      const idsOf = async (words: readonly string[]) => {
        const query = { parentId: "", titleWords: words, order: ORDERS[0] as SessionOrder };
        return (await allPages(queries, query, 9)).map(({ uid }) => uid);
      };
      await subject.store.createRecord({ ...(await blank("u1")), deleted: true, restoring: true, title: "word" });
      expect(await idsOf(["word"])).toEqual([]);
      await subject.store.publishRecord({ ...(await blank("u1")), title: "word" });
      expect(await idsOf(["word"])).toEqual(["u1"]);
      const living = (await subject.store.readRecord("session of u1")) as SessionRecord;
      await replaced(subject.store, living, { deleted: true, title: "" });
      await created(subject.store, "u2", { sessionId: "session of u1", title: "word" });
      expect(await idsOf(["word"])).toEqual(["u2"]);
    });

    it("neither skip nor repeat a record that does not change between two pages", async (context) => {
      const queries = queriesOf(subject.store);
      if (queries === undefined) return context.skip("the store has no queries");
      for (const order of ORDERS) {
        const name = `${order.by}${order.descending}`;
        const records: SessionRecord[] = [];
        for (let i = 0; i < 12; i++) {
          const times = { updateTimeMicros: T0 + i, createTimeMicros: T0 + i };
          records.push(await created(subject.store, `${name}${i}`, { title: `t${i % 4}`, parentId: name, ...times }));
        }
        const moved = [3, 8];
        const seen: string[] = [];
        let next: Awaited<ReturnType<RecordQueries["find"]>>["next"] | undefined;
        for (let round = 0; next !== null; round++) {
          const page = await queries.find({ parentId: name, order }, { limit: 2, after: next });
          seen.push(...page.records.map(({ uid }) => uid));
          next = page.next;
          // A session that is always changed again would never be passed by a list that ends at the newest.
          for (const i of round < 6 ? moved : []) {
            const change = { title: `x${round}`, updateTimeMicros: T0 + 100 + round };
            records[i] = await replaced(subject.store, records[i] as SessionRecord, change);
          }
        }
        const still = records.filter((_, i) => !moved.includes(i)).map(({ uid }) => uid);
        expect(seen.filter((uid) => still.includes(uid)).toSorted(), name).toEqual(still.toSorted());
      }
    });

    const blank = async (uid: string): Promise<NextRecord> => {
      const store = subject.database.namespace("blank");
      const { forks: _forks, ...record } = await created(store, `${uid}-blank`, { sessionId: `session of ${uid}` });
      return { ...record, uid, log: `${uid}.1` };
    };
  });
}

function queriesOf(store: LogStore): RecordQueries | undefined {
  return store.queries;
}

async function allPages(
  queries: RecordQueries,
  query: RecordQuery,
  limit: number,
  lookAt?: number,
): Promise<readonly SessionRecord[]> {
  const found: SessionRecord[] = [];
  let next: Awaited<ReturnType<RecordQueries["find"]>>["next"] | undefined;
  for (let pages = 0; next !== null; pages++) {
    if (pages > 200) throw new Error("find never ends");
    const page = await queries.find(query, { limit, after: next, lookAt });
    expect(page.records.length).toBeLessThanOrEqual(limit);
    found.push(...page.records);
    next = page.next;
  }
  return found;
}

/** Ids may be ordered by code unit or by byte; which of them it is, two neighbours tell. */
function isByUnit(found: readonly SessionRecord[], { order }: RecordQuery): boolean {
  return found.every((record, i) => {
    const before = found[i - 1];
    return before === undefined || comparePlaces(placeIn(before, order), placeIn(record, order), order) < 0;
  });
}

function wanted(records: readonly SessionRecord[], query: RecordQuery, byUnit: boolean) {
  const { order } = query;
  const compareIds = (a: string, b: string) => (byUnit ? (a < b ? -1 : 1) : compareCodePoints(a, b));
  const compare = (a: SessionRecord, b: SessionRecord) => {
    const [one, other] = [placeIn(a, order), placeIn(b, order)];
    const keys = comparePlaces({ ...one, sessionId: "" }, { ...other, sessionId: "" }, order);
    return keys || (order.descending ? -1 : 1) * compareIds(a.sessionId, b.sessionId);
  };
  return placesOf(records.filter((record) => meets(record, query)).toSorted(compare), query);
}

function placesOf(records: readonly SessionRecord[], { order }: RecordQuery) {
  return records.map((record) => ({ uid: record.uid, ...placeIn(record, order) }));
}

function labelsOf(texts: readonly string[]) {
  return texts.length === 0 ? undefined : Object.fromEntries(texts.map((text) => text.split("=")));
}

/** Numbers from 0 to below 1 that are the same in every run. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
