import { Marked, type TokenizerAndRendererExtension, type Tokens } from "marked";
import { highlighted } from "./highlight.js";
import { escaped } from "./sanitise.js";

/** Math stays as it was written, so that Markdown takes no underscore or asterisk out of it. */
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

const marked = new Marked({
  gfm: true,
  breaks: true,
  extensions: [MATH],
  renderer: {
    // Markup that a message brings is shown, not obeyed.
    html: ({ text }: Tokens.HTML | Tokens.Tag) => escaped(text),
    code: ({ text, lang = "" }: Tokens.Code) => codeBlock(text, lang.split(/\s/)[0] ?? ""),
    image: ({ href, text }: Tokens.Image) => imageOrLink(href, text),
  },
});

/** HTML that still has to go through `sanitised`. */
export function markdownToHtml(text: string): string {
  return marked.parse(text, { async: false });
}

function codeBlock(code: string, language: string): string {
  const name = /^[\w+#.-]{1,30}$/.test(language) ? language.toLowerCase() : "";
  const html = highlighted(code, name) ?? escaped(code);
  return `<pre class="code" data-language="${escaped(name)}" tabindex="0"><code>${html}</code></pre>`;
}

/** Pictures of other hosts are named, never fetched: to fetch one would tell its host who reads. */
function imageOrLink(href: string, text: string): string {
  if (/^data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$/.test(href)) {
    return `<img src="${href}" alt="${escaped(text)}">`;
  }
  const label = `Picture: ${escaped(text || href)}`;
  return /^https?:/.test(href) ? `<a href="${escaped(href)}">${label}</a>` : label;
}
