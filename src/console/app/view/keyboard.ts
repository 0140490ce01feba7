import { ticketText } from "../api/ticket.js";
import type { Conversation } from "../state/conversation.js";
import { forkAt } from "../state/message-actions.js";
import { go, linkTo, route } from "../state/route.js";
import { conversation, dialog, jump, panel, selected } from "../state/ui.js";
import { copyText } from "./copy.js";
import { actInSearch } from "./search-keys.js";

/** Keys that act wherever the reader is. */
export function listenToKeys(): void {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isDialogOpen() || isTyping(event)) return;
    if (act(event.key)) event.preventDefault();
  });
}

/**
 * Looks at the page and not at `dialog`, because a key that is pressed just after a dialog has closed comes before the
 * event that says so.
 */
function isDialogOpen(): boolean {
  return document.querySelector("dialog[open]") !== null;
}

function isTyping({ target, key }: KeyboardEvent): boolean {
  const element = target as HTMLElement;
  if (!element.matches("input, textarea, select, [contenteditable]")) return false;
  if (key === "Escape") element.blur();
  return true;
}

function act(key: string): boolean {
  if (key === "?") {
    dialog.value = { kind: "keys" };
    return true;
  }
  if (key === "s" && ticketText === undefined && route.value.view !== "search") {
    go({ view: "search", query: "" });
    return true;
  }
  if (route.value.view === "search") return actInSearch(key);
  const open = conversation.value;
  if (open === undefined) return key === "/" && focusFilter();
  return actIn(open, key);
}

function actIn(open: Conversation, key: string): boolean {
  switch (key) {
    case "j":
      return move(open, 1);
    case "k":
      return move(open, -1);
    case "g":
      jump.value = { to: "start" };
      selected.value = 0;
      return true;
    case "G":
      jump.value = { to: "end" };
      selected.value = open.history.count.value - 1;
      return true;
    case "/":
      panel.value = "search";
      document.querySelector<HTMLElement>(".panel input[type=search]")?.focus();
      return true;
    case "o":
      panel.value = panel.value === "outline" ? undefined : "outline";
      return true;
    case "t":
      dialog.value = { kind: "goto" };
      return true;
    case "Escape":
      if (innerWidth < 1000 && panel.value !== undefined) panel.value = undefined;
      else selected.value = undefined;
      return true;
    default:
      return actOnMessage(open, key);
  }
}

function actOnMessage(open: Conversation, key: string): boolean {
  const position = selected.value ?? firstOnScreen();
  const message = position === undefined ? undefined : open.history.get(position);
  if (position === undefined || message === undefined) return false;
  const article = document.querySelector(`article[data-position="${position}"]`);
  selected.value = position;
  switch (key) {
    case "f":
      if (ticketText !== undefined) return false;
      forkAt(open, message, position);
      return true;
    case "y": {
      const link = new URL(
        linkTo({ view: "session", sessionId: open.sessionId, messageId: message.info.id }),
        location.href,
      );
      void copyText(link.href, "The link is copied");
      return true;
    }
    case "r":
      // The tools of the message appear once it is selected.
      requestAnimationFrame(() => article?.querySelector<HTMLElement>("[data-raw]")?.click());
      return true;
    case "e":
      toggleFolds(article);
      return true;
    default:
      return false;
  }
}

function move(open: Conversation, by: number): boolean {
  const from = selected.value ?? (firstOnScreen() ?? 0) - by;
  const position = Math.max(0, Math.min(open.history.count.value - 1, from + by));
  jump.value = { to: position, align: "auto" };
  return true;
}

function firstOnScreen(): number | undefined {
  const top = document.querySelector(".scroller")?.getBoundingClientRect().top ?? 0;
  const articles = [...document.querySelectorAll<HTMLElement>("article[data-position]")];
  const found = articles.find((article) => article.getBoundingClientRect().bottom > top + 20);
  return found && Number(found.dataset.position);
}

/** Opens everything when something is folded, else folds everything. */
function toggleFolds(article: Element | null): void {
  const buttons = [...(article?.querySelectorAll<HTMLElement>(".message-body [aria-expanded]") ?? [])];
  const details = [...(article?.querySelectorAll<HTMLDetailsElement>("details.reasoning") ?? [])];
  const isFolded = buttons.some((one) => one.ariaExpanded === "false") || details.some((one) => !one.open);
  for (const one of buttons) if ((one.ariaExpanded === "false") === isFolded) one.click();
  for (const one of details) if (one.open !== isFolded) one.querySelector("summary")?.click();
}

function focusFilter(): boolean {
  document.getElementById("filter")?.focus();
  return true;
}
