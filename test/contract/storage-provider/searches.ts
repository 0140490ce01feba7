import { describe, expect, it } from "vitest";
import type { NewChatMessage } from "../../../src/domain/chat-message.js";
import { parseSearch, type SearchCursor, type SearchHit } from "../../../src/domain/search.js";
import type { StorageOperations } from "../../../src/storage/storage-manager.js";
import type { SearchOptions } from "../../../src/storage/storage-provider.js";
import { message, messageAt, refusal, SECOND, sessionWith, sweepAway, T0 } from "./fixtures.js";
import type { StorageProviderSubject } from "./subject.js";

type Filter = Partial<
  Pick<SearchOptions, "labels" | "owner" | "sessionId" | "role" | "sinceMicros" | "untilMicros" | "limit" | "access">
>;

function said(id: string, ...texts: readonly string[]): NewChatMessage {
  return message(id, { parts: texts.map((text) => ({ id: "", type: "text", text })) });
}

/** All hits of all pages. Any page may be shorter than its limit. */
async function hitsOf(provider: StorageOperations, q: string, filter: Filter = {}): Promise<readonly SearchHit[]> {
  const hits: SearchHit[] = [];
  let cursor: SearchCursor | undefined;
  do {
    const page = await provider.searchMessages({ terms: parseSearch(q), limit: 10, ...filter, cursor });
    expect(page.hits.length).toBeLessThanOrEqual(filter.limit ?? 10);
    hits.push(...page.hits);
    cursor = page.next;
  } while (cursor !== undefined);
  return hits;
}

/** More than a search looks at for one page. */
const MANY = 2500;
const SESSIONS = 1100;
const CREATED_AT_ONCE = 50;

export function describeSearches(subject: StorageProviderSubject): void {
  /** `session/message` of each hit. */
  const found = async (q: string, filter?: Filter) => {
    const searching = subject.open({ search: true });
    return (await hitsOf(searching, q, filter)).map(({ sessionId, messageId }) => `${sessionId}/${messageId}`);
  };

  describe("searchMessages when the store cannot search or searching is off", () => {
    it("is unimplemented, and says why", async (context) => {
      const search = { terms: parseSearch("x"), limit: 1 };
      const off = await refusal(subject.provider.searchMessages(search), "unimplemented");
      expect(off.message).toBe("Searching messages is off; --search turns it on");
      if (subject.searches) return context.skip("the store can search");
      const lacking = await refusal(subject.open({ search: true }).searchMessages(search), "unimplemented");
      expect(lacking.message).toContain("is not possible with this store");
    });
  });

  describe("searchMessages", () => {
    const searches = (what: string, test: () => Promise<void>) =>
      it(what, async (context) => (subject.searches ? test() : context.skip("the store cannot search")));

    searches("finds words, whatever their case, accents and punctuation", async () => {
      await sessionWith(subject.provider, "s", [
        said("m1", "Late April: when do the AZALEAS bloom? naïve foo-bar 京都 x2"),
      ]);
      for (const q of [
        "azaleas",
        "Azaleas bloom",
        "bloom azaleas",
        "naive",
        "NAÏVE",
        "foo bar",
        "foo-bar",
        "京都",
        "x2",
      ]) {
        expect(await found(q), q).toEqual(["s/m1"]);
      }
      for (const q of ["azalea", "azaleas rose", "zaleas", "x", "京2"]) expect(await found(q), q).toEqual([]);
    });

    searches("folds case and accents alike in every script, and highlights what it finds", async () => {
      const spellings = [
        ["ο λόγος ἦν", "λογος", "ΛΌΓΟΣ", "λόγοσ", "λόγ*", "ην", '"Ὁ ΛΟΓΟΣ"'],
        ["Ο ΛΟΓΟΣ ΗΝ", "λόγος", "ᾖν", '"ὁ λόγος"'],
        ["зелёная ёлка Й", "елка", "ЁЛКА", "ЗЕЛЕН*", "и"],
        ["300 \u00b5m", "\u03bcm", "\u00b5m", "\u039cM"],
        ["Congreſs Ǿrsted ẛ", "CONGRESS", "ørsted", "s"],
        ["e\u0301te\u0305 tiếng Việt", "ete", "été", "TIENG viet"],
        ["Შრიფტი Ꭰꭱ", "შრიფტი", "ꭰᎡ"],
        ["thanks\u{1f970}friend", "thanks", "friend"],
      ] as const;
      await sessionWith(
        subject.provider,
        "s",
        spellings.map(([text], i) => said(`m${i}`, text)),
      );
      for (const [i, [, ...queries]] of spellings.entries()) {
        for (const q of queries) {
          const hits = await hitsOf(subject.open({ search: true }), q);
          expect(
            hits.map(({ messageId }) => messageId),
            q,
          ).toContain(`m${i}`);
          for (const { snippet } of hits) expect(snippet.highlights, q).not.toEqual([]);
        }
      }
    });

    searches("finds phrases and prefixes", async () => {
      await sessionWith(subject.provider, "s", [said("m1", "one two three"), said("m2", "three two one")]);
      expect(await found('"two three"')).toEqual(["s/m1"]);
      expect(await found('"two three" one')).toEqual(["s/m1"]);
      expect(await found('"one three"')).toEqual([]);
      expect(await found("thr*")).toEqual(["s/m2", "s/m1"]);
      expect(await found('"two thr"*')).toEqual(["s/m1"]);
      expect(await found('"two thr"')).toEqual([]);
      expect(await found('"two three')).toEqual(["s/m1"]);
    });

    searches(
      "finds every piece of a run in a script without spaces, and words of other scripts beside it",
      async () => {
        await sessionWith(subject.provider, "s", [
          said("m1", "我们使用React开发应用。"),
          said("m2", "東京タワーで会う 2024年"),
          said("m3", "ผมไม่กินข้าว"),
          said("m4", "ខ្ញុំស្រលាញ់\u200bភាសាខ្មែរ ພາສາລາວ မြန်မာဘာသာ"),
        ]);
        for (const [q, ...ids] of [
          ["React", "m1"],
          ["开发", "m1"],
          ["使用 应用", "m1"],
          ["用", "m1"],
          ["用*", "m1"],
          ["用react开", "m1"],
          ['"使用 React"', "m1"],
          ["京タ", "m2"],
          ["タワー*", "m2"],
          ["2024", "m2"],
          ["年 で", "m2"],
          ["กินข้าว", "m3"],
          ["ស្រលាញ់ភាសា", "m4"],
          ["ລາວ ဘာသာ", "m4"],
          ["发开"],
          ["使用应用"],
          ['"使用 开发"'],
          ["Rea"],
          ["タワ会"],
          ["กินน้ำ"],
        ] as const) {
          const hits = await hitsOf(subject.open({ search: true }), q);
          expect(
            hits.map(({ messageId }) => messageId),
            q,
          ).toEqual(ids);
          for (const { snippet } of hits) expect(snippet.highlights, q).not.toEqual([]);
        }
      },
    );

    searches("treats everything else as text", async () => {
      await sessionWith(subject.provider, "s", [said("m1", "alpha beta AND OR NOT NEAR text scope")]);
      const hits = [
        ...["alpha AND beta", "alpha OR beta", "NOT alpha", "^alpha", "alpha + beta", "-alpha", "(alpha", "alpha)"],
        ...[
          "{text scope}: alpha",
          'alpha""',
          '"alpha" "',
          "alpha\u0000beta",
          "*alpha",
          "alpha **",
          '"" * alpha',
          "alpha \\",
        ],
      ];
      for (const q of hits) expect(await found(q), q).toEqual(["s/m1"]);
      const misses = ["NEAR(alpha beta)", "text:alpha", "scope:alpha", "alpha '); DROP TABLE messages; --"];
      for (const q of misses) expect(await found(q), q).toEqual([]);
    });

    searches("looks into the parts of the type text, and into no others", async () => {
      const parts = [
        { id: "", type: "text", text: "first" },
        { id: "", type: "reasoning", text: "thought" },
        { id: "", type: "tool_result", text: "output", data: { inner: "deep" } },
        { id: "", type: "text", text: "second" },
      ];
      await sessionWith(subject.provider, "s", [message("m1", { parts, metadata: { key: "meta" } })]);
      expect(await found("first second")).toEqual(["s/m1"]);
      expect(await found('"first second"')).toEqual(["s/m1"]);
      for (const q of ["thought", "output", "deep", "meta", "user", "tool_result"])
        expect(await found(q), q).toEqual([]);
    });

    searches(
      "looks also at the tools of a message when everything is searched, and says in which part it is",
      async () => {
        const call = { name: "read_file", input: { path: "notes.txt", ranges: [{ from: 7 }] } };
        const parts = [
          { id: "", type: "reasoning", text: "thought" },
          { id: "", type: "tool_use", text: "", data: call },
          { id: "", type: "text", text: "said first" },
          { id: "", type: "tool_result", text: "", data: { content: [{ type: "text", text: "京都 weather: sunny" }] } },
        ];
        const metadata = { tool_calls: [{ id: "c", function: { name: "look_up", arguments: '{"at":"zenith"}' } }] };
        await sessionWith(subject.provider, "s", [message("m1", { parts, metadata })]);
        const everything = subject.open({ search: "all" });
        const places = async (q: string) =>
          (await hitsOf(everything, q)).map(({ field, part, snippet }) => [
            field,
            part?.index,
            part?.type,
            snippet.text,
          ]);
        const input = "path\nnotes.txt\nranges\nfrom\n7";
        const output = "京都 weather: sunny";
        for (const [q, ...place] of [
          ["said", "text", 2, "text", "said first"],
          ['"read file"', "tool_name", 1, "tool_use", "read_file"],
          ["notes 7", "tool_input", 1, "tool_use", input],
          ["都", "tool_output", 3, "tool_result", output],
          ["sunny said", "text", 2, "text", "said first"],
          ["sunny from", "tool_input", 1, "tool_use", input],
          ["look", "tool_name", undefined, undefined, "look_up"],
          ["zen*", "tool_input", undefined, undefined, "at\nzenith"],
        ] as const) {
          expect(await places(q), q).toEqual([place]);
          expect(await found(q), q).toEqual(q === "said" ? ["s/m1"] : []);
        }
        for (const q of ["thought", "reasoning", "sunny thought"]) expect(await places(q), q).toEqual([]);
        await subject.provider.updateMessage("s", "m1", { parts: parts.slice(2) });
        expect(await places("zenith")).toHaveLength(1);
        expect(await places("notes")).toEqual([]);
        await subject.provider.eraseMessage("s", "m1");
        for (const q of ["said", "sunny", "zenith"]) expect(await places(q), q).toEqual([]);
      },
    );

    searches(
      "finds titles among the messages when everything is searched, by when their sessions were made",
      async () => {
        const everything = subject.open({ search: "all" });
        const store = subject.store?.();
        // Without queries, lists cannot be filtered by title either.
        if (store !== undefined && store.queries === undefined) return expect(store.searchEntries).toBeDefined();
        const all = async (q: string, filter: Filter = {}) =>
          (await hitsOf(everything, q, filter)).map(({ sessionId, messageId }) => `${sessionId}/${messageId}`);
        for (const [i, title] of ["Kyoto in May", "Late: 東京 kyoto", "Nara", "kyoto again"].entries()) {
          subject.nowMicros = T0 + i * 10_000;
          const owner = i === 3 ? "ada" : undefined;
          await subject.provider.createSession({ sessionId: `s${i}`, title, owner, labels: { k: String(i % 2) } });
        }
        await subject.provider.logMessages("s0", [
          { ...said("m1", "to kyoto"), timestampMicros: T0 + 5000 },
          { ...said("m2", "from Kyoto"), timestampMicros: T0 + 10_000 },
        ]);
        const newestFirst = ["s3/", "s0/m2", "s1/", "s0/m1", "s0/"];
        for (const limit of [1, 2, 3, 10]) expect(await all("kyoto", { limit })).toEqual(newestFirst);
        const [hit] = await hitsOf(everything, "aga*");
        expect(hit).toMatchObject({
          ...{ sessionId: "s3", sessionTitle: "kyoto again", messageId: "", role: "", position: 0 },
          ...{ timestampMicros: T0 + 30_000, field: "title" },
          snippet: { text: "kyoto again", highlights: [{ start: 6, end: 11 }] },
        });
        expect(hit?.part).toBeUndefined();
        expect(await all('"京 kyoto"')).toEqual(["s1/"]);
        expect(await all("東 late")).toEqual(["s1/"]);
        expect(await all('"kyoto late"')).toEqual([]);
        expect(await all("kyoto", { sinceMicros: T0 + 5000, untilMicros: T0 + 30_000 })).toEqual([
          "s0/m2",
          "s1/",
          "s0/m1",
        ]);
        expect(await all("kyoto", { role: "user" })).toEqual(["s0/m2", "s0/m1"]);
        for (const limit of [1, 9]) {
          for (const untilMicros of [undefined, T0 + 20_000])
            expect(await all("kyoto", { sessionId: "s0", untilMicros, limit })).toEqual(["s0/m2", "s0/m1", "s0/"]);
          expect(await all("kyoto", { labels: ["k=0"], limit })).toEqual(["s0/m2", "s0/m1", "s0/"]);
        }
        expect(await all("kyoto", { owner: "ada" })).toEqual(["s3/"]);
        expect(await all("kyoto", { owner: "" })).toEqual(newestFirst.slice(1));
        expect(await all("kyoto", { access: { owner: "ada" } })).toEqual(["s3/"]);
        expect(await all("kyoto", { access: { owner: "eve" } })).toEqual([]);
        expect(await found("again")).toEqual([]);
        await subject.provider.updateSession("s1", { title: "Osaka" });
        await subject.provider.deleteSession("s3");
        expect(await all("kyoto")).toEqual(["s0/m2", "s0/m1", "s0/"]);
        expect(await all("osaka")).toEqual(["s1/"]);
        await subject.provider.updateSession("s0", { expireTimeMicros: Number.MIN_SAFE_INTEGER });
        expect(await all("kyoto")).toEqual([]);
      },
    );

    searches("finds messages of one role, and of a time, on any number of pages", async () => {
      const roles = ["user", "assistant", "tool"];
      const messages = Array.from({ length: 9 }, (_, i) =>
        message(`m${i}`, { role: roles[i % 3] as string, timestampMicros: T0 + i }),
      );
      await sessionWith(subject.provider, "s", messages);
      const ids = (...numbers: readonly number[]) => numbers.map((i) => `s/m${i}`);
      for (const limit of [1, 2, 10]) {
        expect(await found("text", { role: "tool", limit })).toEqual(ids(8, 5, 2));
        expect(await found("text", { sinceMicros: T0 + 6, limit })).toEqual(ids(8, 7, 6));
        expect(await found("text", { untilMicros: T0 + 2, limit })).toEqual(ids(1, 0));
        const both = { sinceMicros: T0 + 2, untilMicros: T0 + 7, limit };
        expect(await found("text", both)).toEqual(ids(6, 5, 4, 3, 2));
        expect(await found("text", { ...both, role: "user", sessionId: "s" })).toEqual(ids(6, 3));
      }
      expect(await found("text", { sinceMicros: T0 + 9 })).toEqual([]);
      expect(await found("text", { untilMicros: T0 })).toEqual([]);
      expect(await found("text", { sinceMicros: T0 + 3, untilMicros: T0 + 3 })).toEqual([]);
      expect(await found("text", { role: "nobody" })).toEqual([]);
      const [least, most] = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
      expect(await found("text", { sinceMicros: least, untilMicros: most, role: "user" })).toEqual(ids(6, 3, 0));
    });

    searches("finds a message of a time that thousands share, whose place is after that time", async () => {
      const many = Array.from({ length: 1030 }, (_, i) => message(`x${i}`, { timestampMicros: T0 }));
      await sessionWith(subject.provider, "s", [...many.slice(0, 515)]);
      await subject.provider.logMessages("s", [...many.slice(515), message("y", { timestampMicros: T0 + 1 })]);
      const all = await found("text", { sinceMicros: T0, untilMicros: T0 + 1, limit: 1000 });
      expect([all.length, new Set(all).size, all.includes("s/y")]).toEqual([1030, 1030, false]);
    });

    searches("says where each hit is, and returns a snippet", async () => {
      await subject.provider.createSession({ sessionId: "s", title: "Kyoto in May" });
      const text = `${"before ".repeat(50)}\u{1F600} The Maples of autumn, maples!${" after".repeat(50)}`;
      await subject.provider.logMessages("s", [said("m1", "nothing"), said("m2", text)]);
      const [hit] = await hitsOf(subject.open({ search: true }), "maples");
      const { snippet, ...place } = hit as SearchHit;
      const { timestampMicros } = (await subject.provider.getMessage("s", "m2")) ?? {};
      expect(place).toEqual({
        ...{ sessionId: "s", sessionTitle: "Kyoto in May", messageId: "m2", role: "user" },
        ...{ timestampMicros, position: 1, field: "text", part: { index: 0, type: "text" } },
      });
      const points = [...snippet.text];
      expect(snippet.text).toMatch(/^…before .* after.*…$/);
      expect(snippet.highlights.map(({ start, end }) => points.slice(start, end).join(""))).toEqual([
        "Maples",
        "maples",
      ]);
    });

    searches("returns the newest messages first by timestamp, page by page", async () => {
      await sessionWith(subject.provider, "a", [messageAt("m1", 1), messageAt("m5", 5)]);
      await sessionWith(subject.provider, "b", [messageAt("m4", 4), messageAt("m2", 2)]);
      await subject.provider.logMessages("a", [messageAt("m3", 3), messageAt("n3", 3), messageAt("o3", 3)]);
      const newestFirst = ["a/m5", "b/m4", "a/o3", "a/n3", "a/m3", "b/m2", "a/m1"];
      for (const limit of [1, 2, 3, 7, 100]) expect(await found("text", { limit })).toEqual(newestFirst);
      const searching = subject.open({ search: true });
      expect((await searching.searchMessages({ terms: parseSearch("text"), limit: 7 })).next).toBeUndefined();
    });

    searches("keeps the order of timestamps at the ends of their range, and when thousands are equal", async () => {
      const times = [Number.MIN_SAFE_INTEGER, -1, 0, T0];
      const many = Array.from({ length: 1100 }, (_, i) => message(`x${i}`, { timestampMicros: 7 }));
      const messages = times.map((timestampMicros) => message(`t${timestampMicros}`, { timestampMicros }));
      await sessionWith(subject.provider, "s", [...messages.slice(0, 3)]);
      for (let i = 0; i < many.length; i += 1000) await subject.provider.logMessages("s", many.slice(i, i + 1000));
      await subject.provider.logMessages("s", [messages[3] as NewChatMessage]);
      const ids = (await found("text", { limit: 500 })).map((id) => id.slice(2));
      expect(ids).toHaveLength(1104);
      expect(ids.filter((id) => id.startsWith("t"))).toEqual(times.toReversed().map((micros) => `t${micros}`));
      expect(ids.filter((id) => id.startsWith("x"))).toEqual(many.map(({ id }) => id).reverse());
    });

    searches("finds no message that was truncated or reverted, until the revert is undone", async () => {
      await sessionWith(subject.provider, "s", ["m1", "m2", "m3", "m4"]);
      await subject.provider.truncateMessages("s", "m3");
      expect(await found("text")).toEqual(["s/m3", "s/m2", "s/m1"]);
      await subject.provider.truncateMessages("s", "m1", { keepForUnrevert: true });
      expect(await found("text")).toEqual(["s/m1"]);
      await subject.provider.restoreMessages("s");
      expect(await found("text")).toEqual(["s/m3", "s/m2", "s/m1"]);
    });

    searches("finds the current text of a message, and nothing once the message is gone", async () => {
      await sessionWith(subject.provider, "s", [said("m1", "before"), said("m2", "other")]);
      await subject.provider.updateMessage("s", "m1", { parts: [{ id: "", type: "text", text: "after" }] });
      expect(await found("before")).toEqual([]);
      expect(await found("after")).toEqual(["s/m1"]);
      await subject.provider.deleteMessage("s", "m1");
      expect(await found("after")).toEqual([]);
      await subject.provider.eraseMessage("s", "m2");
      expect(await found("other")).toEqual([]);
      expect(await found("erased")).toEqual([]);
    });

    searches("finds nothing of a session that was deleted or has expired, nor when its id is used again", async () => {
      await sessionWith(subject.provider, "s", ["m1"]);
      await sessionWith(subject.provider, "t", ["m1"]);
      await subject.provider.deleteSession("s");
      await subject.provider.updateSession("t", { expireTimeMicros: Number.MIN_SAFE_INTEGER });
      await sessionWith(subject.provider, "s", ["m2"]);
      expect(await found("text")).toEqual(["s/m2"]);
      await refusal(found("text", { sessionId: "t" }), "not_found");
      await refusal(found("text", { sessionId: "nobody" }), "not_found");
    });

    searches("finds a message in the session that it was written to, not in forks, shares and copies", async () => {
      await sessionWith(subject.provider, "s", ["m1", "m2"]);
      await sessionWith(subject.provider, "copy", ["c1"]);
      await subject.provider.forkConversation("s", "fork", { as: "fork", upToMessageId: "m1" });
      await subject.provider.forkConversation("s", "share", { as: "share" });
      await subject.provider.forkConversation("s", "copy", { as: "copy" });
      await subject.provider.logMessages("fork", [message("f1")]);
      expect([...(await found("text"))].sort()).toEqual(["copy/c1", "fork/f1", "s/m1", "s/m2"]);
      expect(await found("text", { sessionId: "fork" })).toEqual(["fork/f1"]);
      await subject.provider.truncateMessages("s", null);
      expect([...(await found("text"))].sort()).toEqual(["copy/c1", "fork/f1"]);
    });

    searches(
      "finds a fork's own message in the fork, even after it was cut and copied back from another session",
      async () => {
        await sessionWith(subject.provider, "s", ["m1"]);
        await sessionWith(subject.provider, "copy", ["c1"]);
        await subject.provider.forkConversation("s", "fork", { as: "fork" });
        await subject.provider.logMessages("fork", [message("f1")]);
        await subject.provider.forkConversation("fork", "copy", { as: "copy" });
        await subject.provider.truncateMessages("fork", null);
        await subject.provider.forkConversation("copy", "fork", { as: "copy" });
        expect([...(await found("text"))].sort()).toEqual(["copy/c1", "fork/f1", "s/m1"]);
        expect(await found("text", { sessionId: "fork" })).toEqual(["fork/f1"]);
      },
    );

    searches("finds messages of one session, and of sessions with all of the labels", async () => {
      for (const [sessionId, labels] of [
        ["a", { k: "1", l: "" }],
        ["b", { k: "1" }],
        ["c", {}],
      ] as const) {
        subject.nowMicros += SECOND;
        await subject.provider.createSession({ sessionId, labels });
        await subject.provider.logMessages(sessionId, [message("m1")]);
      }
      expect(await found("text")).toEqual(["c/m1", "b/m1", "a/m1"]);
      expect(await found("text", { sessionId: "b" })).toEqual(["b/m1"]);
      expect(await found("text", { labels: ["k=1"] })).toEqual(["b/m1", "a/m1"]);
      expect(await found("text", { labels: ["l=", "k=1"] })).toEqual(["a/m1"]);
      expect(await found("text", { labels: ["k=2"] })).toEqual([]);
      expect(await found("text", { labels: ["l="], sessionId: "b" })).toEqual([]);
    });

    searches("finds messages of one owner, and of those without one", async () => {
      for (const [sessionId, owner, labels] of [
        ["a", "ada", { k: "1" }],
        ["b", "bob", { k: "1" }],
        ["c", undefined, {}],
        ["d", "ada", { l: "2" }],
      ] as const) {
        subject.nowMicros += SECOND;
        await subject.provider.createSession({ sessionId, owner, labels });
        await subject.provider.logMessages(sessionId, [message("m1")]);
      }
      expect(await found("text")).toEqual(["d/m1", "c/m1", "b/m1", "a/m1"]);
      const ada = { access: { owner: "ada" } };
      for (const filter of [{ owner: "ada" }, ada, { ...ada, owner: "ada" }]) {
        expect(await found("text", filter)).toEqual(["d/m1", "a/m1"]);
        expect(await found("text", { ...filter, labels: ["k=1"] })).toEqual(["a/m1"]);
        expect(await found("text", { ...filter, labels: ["k=1", "l=2"] })).toEqual([]);
      }
      expect(await found("text", { owner: "" })).toEqual(["c/m1"]);
      expect(await found("text", { owner: "eve" })).toEqual([]);
      expect(await found("text", { ...ada, owner: "bob" })).toEqual([]);
      expect(await found("text", { ...ada, owner: "" })).toEqual([]);
      await subject.provider.updateSession("a", { owner: "bob" });
      expect(await found("text", ada)).toEqual(["d/m1"]);
      expect(await found("text", { owner: "bob" })).toEqual(["b/m1", "a/m1"]);
    });

    searches("shows a caller nothing of others, however many of their messages match between its own", async () => {
      const searching = subject.open({ search: true });
      const ada = { access: { owner: "ada" } };
      await subject.provider.createSession({ sessionId: "a", owner: "ada" });
      await subject.provider.createSession({ sessionId: "b", owner: "bob" });
      await subject.provider.createSession({ sessionId: "template", owner: "bob" });
      const batches = (count: number, session: string, from: number) =>
        subject.provider.logMessages(
          session,
          Array.from({ length: count }, (_, i) => message(`${session}${from + i}`, { timestampMicros: T0 + from + i })),
        );
      const search = async (more: Partial<SearchOptions>) =>
        searching.searchMessages({ terms: parseSearch("text"), limit: 2, ...ada, ...more });
      await batches(2, "a", 0);
      await batches(1, "template", 0);
      await subject.provider.forkConversation("template", "fork", { as: "fork" });
      await subject.provider.updateSession("fork", { owner: "ada" });
      for (let from = 10; from <= MANY; from += 500) await batches(500, "b", from);
      // An index may be behind by no more than some thousand messages.
      await search({});
      for (let from = 10; from <= MANY; from += 500) await batches(500, "template", from);
      await batches(1, "a", MANY + 1000);
      const own = ["a0", "a1", `a${MANY + 1000}`].reverse();
      const first = await search({});
      expect(first.hits.map(({ messageId }) => messageId)).toEqual(own.slice(0, 2));
      const rest = await search({ cursor: first.next });
      expect([rest.hits.map(({ messageId }) => messageId), rest.next]).toEqual([own.slice(2), undefined]);
      expect(await search({ limit: 3 })).toEqual({ hits: [...first.hits, ...rest.hits] });
      expect(await search({ access: { owner: "eve" } })).toEqual({ hits: [] });
      expect(await search({ owner: "bob" })).toEqual({ hits: [] });
      // The fork's log of its source goes on with messages that the fork does not show.
      expect(await search({ sessionId: "fork" })).toEqual({ hits: [] });
      await refusal(search({ sessionId: "b" }), "not_found");
      const asked = { terms: parseSearch("text"), limit: 2, owner: "ada" };
      expect((await searching.searchMessages(asked)).hits).toEqual(first.hits);
    });

    searches("finds messages of an owner with more sessions than are listed at once", async () => {
      const ids = Array.from({ length: SESSIONS }, (_, i) => `s${i}`);
      while (ids.length > 0) {
        const some = ids.splice(0, CREATED_AT_ONCE);
        await Promise.all(some.map((sessionId) => subject.provider.createSession({ sessionId, owner: "ada" })));
      }
      for (const i of [0, 777, SESSIONS - 1])
        await subject.provider.logMessages(`s${i}`, [message(`m${i}`, { timestampMicros: T0 + i })]);
      const hits = [SESSIONS - 1, 777, 0].map((i) => `s${i}/m${i}`);
      expect(await found("text", { owner: "ada" })).toEqual(hits);
      expect(await found("text", { access: { owner: "ada" }, limit: 1 })).toEqual(hits);
    });

    searches("finds a draft only once it is finished", async () => {
      await sessionWith(subject.provider, "s");
      const draft = { id: "d", role: "assistant", parts: [{ id: "p", type: "text", text: "begun" }] };
      const { version } = await subject.provider.startDraft("s", draft);
      const delta = { kind: "append_text", partId: "p", text: " ended" } as const;
      await subject.provider.extendDraft("s", "d", version, [delta]);
      expect(await found("begun")).toEqual([]);
      await subject.provider.finishDraft("s", "d", { version: version + 1 });
      expect(await found("begun ended")).toEqual(["s/d"]);
    });

    searches("finds messages after their segments were merged, once each", async () => {
      const provider = subject.open({ maxSegments: 4, mergeSegments: 3, search: true });
      await sessionWith(provider, "s", [messageAt("m0", 100)]);
      for (let i = 1; i <= 12; i++) await provider.logMessages("s", [messageAt(`m${i}`, i * 7)]);
      expect((await sweepAway(subject)).ranges).toBeGreaterThan(0);
      const ids = await found("text");
      expect(ids).toHaveLength(13);
      expect(new Set(ids).size).toBe(13);
    });

    searches("refuses a cursor of another store", async () => {
      const cursor = { place: "elsewhere" };
      const refused = subject.open({ search: true }).searchMessages({ terms: parseSearch("x"), limit: 1, cursor });
      await refusal(refused, "invalid_argument");
    });
  });
}
