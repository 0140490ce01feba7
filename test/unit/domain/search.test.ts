import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseSearch, wordsOf } from "../../../src/domain/search.js";
import { findIn, holdsTerms } from "../../../src/domain/search-text.js";

const termsOf = (q: string) => parseSearch(q).map(({ words, isPrefix }) => words.join(" ") + (isPrefix ? "*" : ""));

describe("parseSearch", () => {
  it.each([
    ["one Two", ["one", "two"]],
    ['"one two" three', ["one two", "three"]],
    ['"one two"* thr*', ["one two*", "thr*"]],
    ['one"two three"four', ["one", "two three", "four"]],
    ['"one two', ["one two"]],
    ["foo-bar_baz*", ["foo bar baz*"]],
    ['C++ a*b !! * "" one', ["c", "a b", "one"]],
    ["Café CAFE\u0301 Ångström", ["cafe", "angstrom"]],
    ['one ONE one* "one two" "One  two"', ["one", "one*", "one two"]],
    ["京都の 한국어 Привет", ["京都 都の", "한국어", "привет"]],
    ["京* 京 都", ["京*", "都*"]],
    ["京都* 使用React开发", ["京都", "使用 用 react 开发"]],
    ['"React开" "2024年"*', ["react 开*", "2024 年*"]],
    ["กินข้าว", ["กิ ิน นข ข้ ้า าว"]],
    ["a\u0000b", ["a b"]],
  ])("reads %j", (q, terms) => {
    expect(termsOf(q)).toEqual(terms);
  });

  it.each([
    ["", "q is required"],
    [" ", "q holds no letter or digit to look for"],
    ['"*"', "q holds no letter or digit to look for"],
    ["x".repeat(257), "q is 257 bytes; at most 256 are allowed"],
    ["one tw*", "The prefix tw* in q is 2 bytes; at least 3 are required"],
    ["aaa* bbb* ccc* ddd* eee*", "q holds 5 different prefixes; at most 4 are allowed"],
    [
      "aaa* 我 你 他 她",
      "q holds 5 different prefixes, as which single characters of scripts without spaces count; at most 4 are allowed",
    ],
    ["x\ud800", "q is not well-formed Unicode: it holds a lone surrogate"],
  ])("refuses %j", (q, message) => {
    expect(() => parseSearch(q)).toThrow(expect.objectContaining({ code: "invalid_argument", message }));
  });

  it("finds at least one word in every term, or refuses, whatever the text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 60 }), (q) => {
        try {
          for (const { words } of parseSearch(q)) expect(words.length).toBeGreaterThan(0);
        } catch (error) {
          expect(error).toMatchObject({ code: "invalid_argument" });
        }
      }),
    );
  });
});

describe("what is found of scripts without spaces", () => {
  it("is every text that holds what was sought, and nothing else", () => {
    const unit = fc.constantFrom("京", "都", "の", "ก", "\u0e49", "\u{20000}");
    const texts = fc.string({ unit, minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(texts, fc.string({ unit, minLength: 1, maxLength: 3 }), (text, q) => {
        expect(holdsTerms(text, parseSearch(q))).toBe(text.includes(q));
        expect(holdsTerms(`Latin${text}2`, parseSearch(q))).toBe(text.includes(q));
      }),
    );
  });
});

describe("the words of a text", () => {
  it("have the offsets at which they are in the text", () => {
    const text = "Grüße, \u{1F600}wörld\u{10428} 3x!";
    const words = [...wordsOf(text)];
    expect(words.map(({ word }) => word)).toEqual(["gruße", "world\u{10428}", "3x"]);
    expect(words.map(({ start, end }) => text.slice(start, end))).toEqual(["Grüße", "wörld\u{10428}", "3x"]);
  });

  it.each([
    ["ΛΌΓΟΣ λόγος λόγοσ", "λογοσ λογοσ λογοσ"],
    ["Ἀρχῇ ᾳ ΐ", "αρχη α ι"],
    ["Ёлка Йод", "елка иод"],
    ["\u00b5 \u03bc ſ ẛ ϐ", "\u03bc \u03bc s s β"],
    ["İI ı Straße ẞ ŉ ﬁ", "ii ı straße ß ŉ ﬁ"],
    ["Ꭰꭰ Ა \u{10400}", "ꭰꭰ ა \u{10428}"],
    ["e\u0301\u0305 ở", "e o"],
    ["\u0958 か\u3099", "\u0915\u093c が"],
    ["使用React开发 v2版", "使用 用 react 开发 发 v2 版"],
    ["カ\u3099イト\u3099 ｶﾞ", "ガイ イド ド ｶﾞ ﾞ"],
    ["葛\u{e0100}城\u200b\uf900", "葛城 城豈 豈"],
    ["\u{20000}\u{20001}, 〆〇", "\u{20000}\u{20001} \u{20001} 〆〇 〇"],
    ["ປາ မြန် ខ្មែរ", "ປາ າ မြ ြန န် ် ខ្ ្ម មែ ែរ រ"],
  ])("of %j are %j", (text, words) => {
    expect([...wordsOf(text)].map(({ word }) => word).join(" ")).toBe(words);
  });

  it("are equal whatever the case and the accents of a letter", () => {
    const read = (text: string) => Array.from(wordsOf(text), ({ word }) => word).join(" ");
    const different: string[] = [];
    for (let point = 0; point < 0x20000; point++) {
      const letter = String.fromCodePoint(point);
      // The dotless i has the capital of another letter.
      if (!/\p{L}/u.test(letter) || letter === "ı") continue;
      const cases = [letter.toLowerCase(), letter.toUpperCase()].filter((other) => other.length === letter.length);
      const apart = letter.normalize("NFD");
      const isAccented = /^\p{L}[\u0300-\u036f]*$/u.test(apart);
      const word = read(letter);
      const others = [...cases, `${letter}\u0301`, ...(isAccented ? [apart, word] : [])];
      for (const other of others) if (read(other) !== word) different.push(`${letter} ${other}`);
    }
    expect(different).toEqual([]);
  });
});

describe("findIn", () => {
  const marked = (text: string, q: string) => {
    const snippet = findIn([text], parseSearch(q)).snippet;
    const points = [...snippet.text];
    let shown = "";
    let at = 0;
    for (const { start, end } of snippet.highlights) {
      shown += `${points.slice(at, start).join("")}[${points.slice(start, end).join("")}]`;
      at = end;
    }
    return shown + points.slice(at).join("");
  };

  it("marks every word and phrase that was found", () => {
    expect(marked("One two three two.", 'two "one two"')).toBe("[One two] three [two].");
    expect(marked("azalea azaleas", "azal*")).toBe("[azalea] [azaleas]");
    expect(marked("<b>x</b>", "x")).toBe("<b>[x]</b>");
  });

  it("counts code points, and never cuts one", () => {
    const text = `${"\u{1F600}".repeat(300)} word ${"\u{1F600}".repeat(300)}`;
    const shown = marked(text, "word");
    expect(shown).toMatch(/^…\u{1F600}+ \[word\] \u{1F600}+…$/u);
    expect([...shown.replaceAll(/[[\]…]/g, "")]).toHaveLength(200);
  });

  it("marks what was found of scripts without spaces, and no more", () => {
    expect(marked("我们使用React开发应用，使用。", "使用")).toBe("我们[使用]React开发应用，[使用]。");
    expect(marked("我们使用React开发应用", "用")).toBe("我们使[用]React开发应[用]");
    expect(marked("我们使用React开发应用", "用React开")).toBe("我们使[用React开]发应用");
    expect(marked("\u{20000}\u{1F600}京\u{20000}都", "\u{20000}")).toBe("[\u{20000}]\u{1F600}京[\u{20000}]都");
    expect(marked("葛\u{e0100}城市カ\u3099イト\u3099", "葛城 ガイド")).toBe("[葛\u{e0100}城]市[カ\u3099イト\u3099]");
    expect(marked("ไม่กินข้าว", "กินข้าว")).toBe("ไม่[กินข้าว]");
  });

  it("names the first text that has all terms, or else the first that has one", () => {
    const texts = ["two", "one three", "one two", "two one"];
    expect(findIn(texts, parseSearch("one two"))).toMatchObject({ index: 2, snippet: { text: "one two" } });
    expect(findIn(texts, parseSearch("three two"))).toMatchObject({ index: 0, snippet: { text: "two" } });
    const across = findIn(texts, parseSearch('"two one three"'));
    expect(across).toEqual({ index: 0, snippet: { text: "two", highlights: [{ start: 0, end: 3 }] } });
  });

  it("starts at a word, and shows a short text whole", () => {
    expect(marked(`${"before ".repeat(20)}word`, "word")).toBe(`…${"before ".repeat(5)}[word]`);
    expect(marked("\u{1F600}word", "word")).toBe("\u{1F600}[word]");
  });

  it("shows the start of the text when the match is far away", () => {
    const text = `${"x ".repeat(600_000)}word`;
    expect(holdsTerms(text, parseSearch("word"))).toBe(true);
    expect(findIn([text], parseSearch("word"))).toEqual({ snippet: { text: `${"x ".repeat(100)}…`, highlights: [] } });
  });
});
