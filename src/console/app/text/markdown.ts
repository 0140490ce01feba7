import { Lexer, Marked, type Token, type TokenizerAndRendererExtension, type Tokens, type TokensList } from "marked";
import { escaped } from "./escaped.js";

/** Math is left as it was written, so that Markdown does not consume its underscores and asterisks. */
const MATH: TokenizerAndRendererExtension = {
  name: "math",
  level: "inline",
  start: (text) => /\$|\\\(|\\\[/.exec(text)?.index,
  tokenizer(text) {
    const [raw] =
      /^\$\$[^$]+\$\$/.exec(text) ??
      /^\\\([\s\S]+?\\\)/.exec(text) ??
      /^\\\[[\s\S]+?\\\]/.exec(text) ??
      /^\$(?![\s\d])[^$\n]*[^$\s\\]\$(?!\d)/.exec(text) ??
      [];
    return raw === undefined ? undefined : { type: "math", raw };
  },
  renderer: ({ raw }) => `<code class="math">${escaped(raw)}</code>`,
};

/** Limits for input that would cost the parser quadratic time, or the browser thousands of nested boxes. */
const MAX_CHARACTERS = 100_000;
const MAX_LINES = 3000;
const MAX_INLINE_CHARACTERS = 4000;
/** Characters times marks, because from each mark the parser may look for its end through the rest of the text. */
const MAX_INLINE_WORK = 300_000;
/** For the kind of heading that is underlined, whose end the parser looks for from every line. */
const MAX_HEADING_CHARACTERS = 300;
const MAX_DEPTH = 20;
/** Quotes and list items. Lines that go on without a mark have the parser read the quotes around them again. */
const MAX_BLOCKS = 5000;
/** Limits for input that would become much larger: each reference repeats its definition, and each row is filled up. */
const MAX_DEFINITION_CHARACTERS = 500;
const MAX_CELLS = 20_000;

/** Whether a text should be shown as plain text. */
export function isTooMuch(text: string): boolean {
  return text.length > MAX_CHARACTERS || text.split(/\r\n?|\n/, MAX_LINES + 1).length > MAX_LINES;
}

/** Leaves text as it was written where it is too long or too deep for the parser, such as a log without a fence. */
class BoundedLexer extends Lexer {
  #depth = 0;
  #blocks = 0;

  override blockTokens(source: string, tokens: Token[] = [], lastParagraphClipped = false): TokensList {
    this.#blocks++;
    return this.#bounded(source, tokens, () => super.blockTokens(source, tokens, lastParagraphClipped)) as TokensList;
  }

  override inlineTokens(source: string, tokens: Token[] = []): Token[] {
    const work = source.length * (source.match(/[*_~`[!<$\\]/g)?.length ?? 0);
    if (source.length > MAX_INLINE_CHARACTERS || work > MAX_INLINE_WORK) return asText(source, tokens);
    return this.#bounded(source, tokens, () => super.inlineTokens(source, tokens));
  }

  #bounded(source: string, tokens: Token[], parse: () => Token[]): Token[] {
    if (this.#depth === MAX_DEPTH || this.#blocks > MAX_BLOCKS) return asText(source, tokens);
    this.#depth++;
    const parsed = parse();
    this.#depth--;
    return parsed;
  }
}

function asText(source: string, tokens: Token[] = []): Token[] {
  tokens.push({ type: "text", raw: source, text: source });
  return tokens;
}

const marked = new Marked({
  gfm: true,
  breaks: true,
  extensions: [MATH],
  tokenizer: {
    // Returning false leaves the source to the default tokenizer, and undefined makes it an ordinary paragraph.
    def(source) {
      const [raw] = this.rules.block.def.exec(source) ?? [];
      return raw !== undefined && raw.length > MAX_DEFINITION_CHARACTERS ? undefined : false;
    },
    lheading(source) {
      return source.length > MAX_HEADING_CHARACTERS && !source.slice(0, MAX_HEADING_CHARACTERS).includes("\n\n")
        ? undefined
        : false;
    },
    table(source) {
      const [raw, , delimiters = "", rows = ""] = this.rules.block.table.exec(source) ?? [];
      if (raw === undefined || delimiters.split("|").length * rows.split("\n").length <= MAX_CELLS) return false;
      // `table` can only return tables, but the lexer takes any token.
      return { type: "paragraph", raw, text: raw, tokens: asText(raw) } as unknown as Tokens.Table;
    },
  },
  renderer: {
    checkbox: ({ checked }) => `<span class="check">${checked ? "☑" : "☐"}</span> `,
    // HTML in a message is shown as text and never interpreted.
    html: ({ text }: Tokens.HTML | Tokens.Tag) => escaped(text),
    code: ({ text, lang = "" }: Tokens.Code) => codeBlock(text, lang.split(/\s/)[0] ?? ""),
    image: ({ href, text }: Tokens.Image) => imageOrLink(href, text),
  },
});

/** Returns HTML that must still go through `sanitised`. */
export function markdownToHtml(text: string): string {
  return marked.parser(new BoundedLexer(marked.defaults).lex(text));
}

function codeBlock(code: string, language: string): string {
  const name = /^[\w+#.-]{1,30}$/.test(language) ? language.toLowerCase() : "";
  return `<pre class="code" data-language="${escaped(name)}" tabindex="0"><code>${escaped(code)}</code></pre>`;
}

/** Pictures on other hosts are named and never fetched, because fetching one would tell its host who is reading. */
function imageOrLink(href: string, text: string): string {
  if (/^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$/.test(href)) {
    return `<img src="${href}" alt="${escaped(text)}">`;
  }
  const label = `Picture: ${escaped(text || href)}`;
  return /^https?:/.test(href) ? `<a href="${escaped(href)}">${label}</a>` : label;
}
