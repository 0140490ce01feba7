import { Marked, type TokenizerAndRendererExtension, type Tokens } from "marked";
import { highlighted } from "./highlight.js";
import { escaped } from "./sanitise.js";

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
const MAX_INLINE_CHARACTERS = 4000;
const TOO_DEEP = /^\s*(?:>\s?){30}|^\s*(?:[-*+]\s+){30}/m;

/** Whether a text should be shown as plain text. */
export function isTooMuch(text: string): boolean {
  return text.length > MAX_CHARACTERS || TOO_DEEP.test(text);
}

const marked = new Marked({
  gfm: true,
  breaks: true,
  extensions: [MATH],
  tokenizer: {
    // Recognises a log that was pasted without a fence. Returning false leaves everything else to the default
    // tokenizer.
    paragraph(source) {
      const [raw] = this.rules.block.paragraph.exec(source) ?? [];
      if (raw === undefined || raw.length <= MAX_INLINE_CHARACTERS) return false;
      return { type: "paragraph", raw, text: raw, tokens: [{ type: "text", raw, text: raw }] };
    },
    text(source) {
      const [raw] = this.rules.block.text.exec(source) ?? [];
      return raw !== undefined && raw.length > MAX_INLINE_CHARACTERS && { type: "text", raw, text: raw };
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
  return marked.parse(text, { async: false });
}

function codeBlock(code: string, language: string): string {
  const name = /^[\w+#.-]{1,30}$/.test(language) ? language.toLowerCase() : "";
  const html = highlighted(code, name) ?? escaped(code);
  return `<pre class="code" data-language="${escaped(name)}" tabindex="0"><code>${html}</code></pre>`;
}

/** Pictures on other hosts are named and never fetched, because fetching one would tell its host who is reading. */
function imageOrLink(href: string, text: string): string {
  if (/^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$/.test(href)) {
    return `<img src="${href}" alt="${escaped(text)}">`;
  }
  const label = `Picture: ${escaped(text || href)}`;
  return /^https?:/.test(href) ? `<a href="${escaped(href)}">${label}</a>` : label;
}
