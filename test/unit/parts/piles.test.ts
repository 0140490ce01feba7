import fc from "fast-check";
import { expect, it } from "vitest";
import { withoutPiles } from "../../../src/parts/piles.js";

const WRITING = ["नमस्ते क्षत्रिय", "น้ำทำกรรม", "שָׁלוֹם עֲלֵיכֶם", "བསྒྲུབས་", "👩‍👩‍👧‍👦 🏴󠁧󠁢󠁥󠁮󠁧󠁿", "Việt Nam", "Z̴̡̧͉̈́̓a̵̱͌l̸̗̃ġ̶̱o̴͇͝"];

it.each(WRITING)("keeps %s", (text) => {
  expect(withoutPiles(text)).toBe(text);
});

it("cuts every long run of marks, and nothing else", () => {
  const mark = fc.constantFrom("\u0300", "\u0e33", "\u0316", "\u0f71", "\u200d", "\ufe0f", "\u{e0067}");
  const run = fc.tuple(fc.constantFrom("Z", "字", "🍵"), fc.array(mark, { maxLength: 100 })).map(([base, marks]) => ({
    text: base + marks.join(""),
    cut: base + (marks.length > 32 ? `${marks.slice(0, 32).join("")}…` : marks.join("")),
  }));
  fc.assert(
    fc.property(fc.array(run, { maxLength: 5 }), (runs) => {
      expect(withoutPiles(runs.map(({ text }) => text).join(""))).toBe(runs.map(({ cut }) => cut).join(""));
    }),
  );
});
