import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseSearch, wordsOf } from "../../../src/domain/search.js";
import { holdsTerms, searchedText, snippetOf } from "../../../src/domain/search-text.js";

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
    ["京都の 한국어 Привет", ["京都の", "한국어", "привет"]],
    ["京*", ["京*"]],
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

describe("the words of a text", () => {
  it("have the offsets at which they are in the text", () => {
    const text = "Grüße, \u{1F600}wörld\u{20000} 3x!";
    const words = [...wordsOf(text)];
    expect(words.map(({ word }) => word)).toEqual(["gruße", "world\u{20000}", "3x"]);
    expect(words.map(({ start, end }) => text.slice(start, end))).toEqual(["Grüße", "wörld\u{20000}", "3x"]);
  });

  it.each([
    ["ΛΌΓΟΣ λόγος λόγοσ", "λογοσ λογοσ λογοσ"],
    ["Ἀρχῇ ᾳ ΐ", "αρχη α ι"],
    ["Ёлка Йод", "елка иод"],
    ["\u00b5 \u03bc ſ ẛ ϐ", "\u03bc \u03bc s s β"],
    ["İI ı Straße ẞ ŉ ﬁ", "ii ı straße ß ŉ ﬁ"],
    ["Ꭰꭰ Ა \u{10400}", "ꭰꭰ ა \u{10428}"],
    ["e\u0301\u0305 ở", "e o"],
    ["\u0958 か\u3099", "\u0915\u093c か"],
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

  it("come only from parts of the type text", () => {
    const part = (type: string, text: string) => ({ id: "", type, text });
    expect(searchedText([part("text", "a"), part("reasoning", "b"), part("text", "c")])).toBe("a\nc");
  });
});

describe("snippetOf", () => {
  const marked = (text: string, q: string) => {
    const snippet = snippetOf(text, parseSearch(q));
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

  it("starts at a word, and shows a short text whole", () => {
    expect(marked(`${"before ".repeat(20)}word`, "word")).toBe(`…${"before ".repeat(5)}[word]`);
    expect(marked("\u{1F600}word", "word")).toBe("\u{1F600}[word]");
  });

  it("shows the start of the text when the match is far away", () => {
    const text = `${"x ".repeat(600_000)}word`;
    expect(holdsTerms(text, parseSearch("word"))).toBe(true);
    expect(snippetOf(text, parseSearch("word"))).toEqual({ text: `${"x ".repeat(100)}…`, highlights: [] });
  });
});
