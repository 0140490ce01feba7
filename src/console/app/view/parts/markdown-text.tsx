import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { withoutPiles } from "../../../../parts/piles.js";
import { isTooMuch, markdownToHtml } from "../../text/markdown.js";
import { sanitised } from "../../text/sanitise.js";
import { copyText } from "../copy.js";
import { Foldable } from "./foldable.js";

/** A word that may be broken in a table. All others stay whole, and the table scrolls. */
const LONG_WORD = /\S{40}/;

/** A text rendered as Markdown. Code shows its language and a copy button, and wide tables scroll within themselves. */
export function MarkdownText({ text: stored }: { text: string }) {
  const text = useMemo(() => withoutPiles(stored), [stored]);
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (isTooMuch(text)) return;
    const content = sanitised(markdownToHtml(text));
    for (const pre of content.querySelectorAll<HTMLPreElement>("pre.code")) pre.replaceWith(codeBox(pre));
    for (const table of content.querySelectorAll("table")) table.replaceWith(scrollBox(table));
    box.current?.replaceChildren(content);
  }, [text]);
  if (isTooMuch(text)) return <Foldable text={text} />;
  return <div class="markdown" dir="auto" ref={box} />;
}

function codeBox(pre: HTMLPreElement): HTMLElement {
  const box = element("div", "code-box");
  const head = element("div", "code-head");
  const copy = element("button", "text-button");
  copy.setAttribute("type", "button");
  copy.textContent = "Copy";
  const code = pre.textContent ?? "";
  copy.addEventListener("click", () => void copyText(code, "The code is copied"));
  const language = element("span", "");
  language.textContent = pre.dataset.language ?? "";
  head.append(language, copy);
  const shown = pre.cloneNode(true) as HTMLElement;
  box.append(head, shown);
  if (pre.dataset.language) void highlight(shown, code, pre.dataset.language);
  return box;
}

/** Colours code. The highlighter is loaded when the first code in a language is shown. */
async function highlight(pre: HTMLElement, code: string, language: string): Promise<void> {
  // Without it, the code is as readable as any other text.
  const loaded = await import("../../text/highlight.js").catch(() => undefined);
  const html = loaded?.highlighted(code, language);
  if (html !== undefined) pre.querySelector("code")?.replaceChildren(sanitised(html));
}

function scrollBox(table: Element): HTMLElement {
  const box = element("div", "table-box");
  box.tabIndex = 0;
  for (const cell of table.querySelectorAll("th, td")) {
    if (LONG_WORD.test(cell.textContent ?? "")) cell.classList.add("long-word");
  }
  box.append(table.cloneNode(true));
  return box;
}

function element(tag: string, className: string): HTMLElement {
  const made = document.createElement(tag);
  if (className) made.className = className;
  return made;
}
