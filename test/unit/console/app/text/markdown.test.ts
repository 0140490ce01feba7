import { describe, expect, it } from "vitest";
import { highlighted } from "../../../../../src/console/app/text/highlight.js";
import { isTooMuch, markdownToHtml } from "../../../../../src/console/app/text/markdown.js";

const SPACES = " ".repeat(98_000);

/** How deep the tags of some HTML are nested. */
function depthOf(html: string): number {
  let depth = 0;
  let deepest = 0;
  for (const [tag] of html.matchAll(/<\/?(?:blockquote|ol|ul|li|em|strong|del)\b/g)) {
    depth += tag.startsWith("</") ? -1 : 1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

describe("Markdown", () => {
  it.each([
    ["a heading", "# a *b* `c`", "<h1>a <em>b</em> <code>c</code></h1>"],
    ["an underlined heading", "a\n===\n\nb", "<h1>a</h1>\n<p>b</p>"],
    ["a link by reference", "[a]\n\n[a]: https://example.com", '<p><a href="https://example.com">a</a></p>'],
    ["markup, as text", "a <b>c</b>", "<p>a &lt;b&gt;c&lt;/b&gt;</p>"],
    ["math, as it was written", "$a_1 * b_1$", '<p><code class="math">$a_1 * b_1$</code></p>'],
  ])("shows %s", (_, text, html) => {
    expect(markdownToHtml(text).trim()).toBe(html);
  });

  it.each([
    ["empty lines", `a${"\n".repeat(50_000)}b`],
    ["carriage returns", "a\r".repeat(50_000)],
    ["characters", "x".repeat(100_001)],
  ])("is not used for a text of very many %s", (_, text) => {
    expect(isTooMuch(text)).toBe(true);
  });

  // Without a limit, the parser takes from seconds to minutes for each of these.
  it.each([
    ["heading of emphasis", `# ${"_a_".repeat(33_000)}`],
    ["heading of spaces", `# a${SPACES}b`],
    ["paragraph of emphasis", "*a_".repeat(33_000)],
    ["list item of emphasis", `- ${"_a_\n".repeat(2900)}`],
    ["cell of emphasis", `| a |\n|---|\n| ${"_a_".repeat(30_000)} |`],
  ])("leaves a long %s as text", (_, text) => {
    expect(isTooMuch(text)).toBe(false);
    expect(markdownToHtml(text)).not.toContain("<em>");
  });

  it.each([
    ["a wide table of many rows", `|${"a|".repeat(1990)}\n|${"-|".repeat(1990)}\n${"|\n".repeat(2900)}`],
    ["references to a long address", `[a]: http://${"b".repeat(48_000)}\n\n${`${"[a] ".repeat(200)}\n\n`.repeat(60)}`],
    ["references to a long title", `[a]: b '${"b".repeat(48_000)}'\n\n${`${"[a] ".repeat(200)}\n\n`.repeat(60)}`],
  ])("does not make %s much longer", (_, text) => {
    expect(isTooMuch(text)).toBe(false);
    expect(markdownToHtml(text).length).toBeLessThan(2 * text.length);
  });

  it("highlights code, but not in long lines", () => {
    expect(markdownToHtml("```c\nint a;\n```")).toContain('data-language="c" tabindex="0"><code>int a;');
    expect(highlighted("int a;", "c")).toContain("<span");
    expect(highlighted(`int ${"a".repeat(3000)};`, "c")).toBeUndefined();
    expect(highlighted("int a;", "no language")).toBeUndefined();
  });

  it.each(["> ", ">", "- ", "* ", "1. ", "> - ", "- 1) ", "- > + "])("nests %j at most 20 levels deep", (mark) => {
    const html = markdownToHtml(`${mark.repeat(500)}x`);
    expect(depthOf(html)).toBeLessThanOrEqual(40);
    expect(html).toContain("x");
  });

  it("nests few boxes in all", () => {
    const html = markdownToHtml(`${"> ".repeat(8)}\na\n`.repeat(1450));
    expect(html.split("<blockquote>").length).toBeLessThan(6000);
  });

  it("nests emphasis at most 20 levels deep", () => {
    const html = markdownToHtml(`${"*a **b ".repeat(100)}x${"** *".repeat(100)}`);
    expect(depthOf(html)).toBeLessThanOrEqual(20);
    expect(html).toContain("x");
  });
});
