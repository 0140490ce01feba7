import type { Virtualizer } from "@tanstack/virtual-core";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { getMessage } from "../api/calls.js";
import type { Conversation } from "../state/conversation.js";
import { noteWhere, type Route, route } from "../state/route.js";
import { reasonOf, toast } from "../state/toasts.js";
import { jump, selected, toolsOpened } from "../state/ui.js";

type List = Virtualizer<HTMLElement, HTMLElement>;

/** How long after the last scrolling the address is updated. */
const NOTE_MS = 250;
/** Within this many pixels of the end, the reader counts as being at the end. */
export const END_PX = 60;

/** Scrolls to what the address names, keeps the address up to date, and counts new messages below the screen. */
export function useListPosition(conversation: Conversation, list: List, base: number, release: () => void) {
  const [seen, setSeen] = useState(conversation.history.count.value);
  const isPlaced = useRef(false);
  /** How many messages are being looked up because an address names them. */
  const lookUps = useRef(0);
  const opened = useRef<Route | undefined>(route.peek());
  const count = conversation.history.count.value;
  const isAtEnd = list.isAtEnd(END_PX);

  const jumpToMessage = async (messageId: string) => {
    lookUps.current += 1;
    const position = await positionOf(conversation, messageId);
    lookUps.current -= 1;
    if (position !== undefined) jump.value = { to: position };
  };

  useLayoutEffect(() => {
    if (isPlaced.current || conversation.session.value === undefined) return;
    isPlaced.current = true;
    const to = route.peek();
    if (to.view !== "session" || (to.at === undefined && to.messageId === undefined)) list.scrollToEnd();
    else if (to.at !== undefined) goToMessage(list, base, Math.min(to.at, count - 1));
    else void jumpToMessage(to.messageId as string);
  });

  useEffect(
    () =>
      route.subscribe((to) => {
        // The subscription begins with the address that opened the session, which the effect above handles.
        if (to === opened.current) return;
        opened.current = undefined;
        if (!isPlaced.current || to.view !== "session" || to.sessionId !== conversation.sessionId) return;
        if (to.messageId !== undefined) void jumpToMessage(to.messageId);
        else if (to.at !== undefined) jump.value = { to: to.at };
      }),
    [conversation],
  );

  useEffect(
    () =>
      jump.subscribe((wanted) => {
        if (wanted === undefined) return;
        jump.value = undefined;
        release();
        if (wanted.to === "end") list.scrollToEnd();
        else if (typeof wanted.to !== "number") list.scrollToIndex(0, { align: "start" });
        else goToMessage(list, base, wanted.to, "align" in wanted ? wanted.align : undefined);
      }),
    [list, base],
  );

  useEffect(
    () =>
      toolsOpened.subscribe((message) => {
        if (message === undefined) return;
        toolsOpened.value = undefined;
        // The list takes the new height of the message before the next frame, and moves the messages after it.
        requestAnimationFrame(() => requestAnimationFrame(() => bringTools(message, release)));
      }),
    [list],
  );

  useEffect(() => {
    if (isAtEnd && seen !== count) setSeen(count);
    else if (seen > count) setSeen(count);
  });

  const first = firstVisible(list);
  const place = placeOf(list, selected.value, base);
  useEffect(() => {
    if (!isPlaced.current || first === undefined) return;
    const note = () => {
      // The address names a message that the list has not reached yet.
      if (lookUps.current > 0) return;
      const at = placeOf(list, selected.peek(), base);
      const { sessionId } = conversation;
      noteWhere(at === undefined ? { view: "session", sessionId } : { view: "session", sessionId, at });
    };
    // The list may have been scrolled since it was drawn. The browser tells it so before the next frame.
    let frame = 0;
    const timer = setTimeout(() => {
      frame = requestAnimationFrame(note);
    }, NOTE_MS);
    return () => {
      clearTimeout(timer);
      cancelAnimationFrame(frame);
    };
  }, [first, place, conversation]);

  return { isAtEnd, unseen: Math.max(0, count - seen) };
}

function goToMessage(list: List, base: number, position: number, align: "start" | "auto" = "start"): void {
  if (position < 0) return;
  list.scrollToIndex(Math.max(0, position - base), { align });
  selected.value = position;
  focusMessage(position);
}

/**
 * Scrolls the tools that a touch screen has below a message into view, above the button that leads to the end. Those
 * far below a long message stay there, because what was tapped would leave the screen.
 */
function bringTools(message: HTMLElement, release: () => void): void {
  const box = message.querySelector(".message-tools")?.getBoundingClientRect();
  const scroller = message.closest(".scroller");
  if (!box || !scroller) return;
  const hiddenPx = box.bottom + END_PX - scroller.getBoundingClientRect().bottom;
  if (hiddenPx <= 0 || hiddenPx > scroller.clientHeight / 2) return;
  release();
  scroller.scrollTop += hiddenPx;
}

/** Focuses the message once it is on the page, so that screen readers and the Tab key continue from there. */
function focusMessage(position: number, frames = 10): void {
  const article = document.querySelector<HTMLElement>(`article[data-position="${position}"]`);
  if (article !== null) article.focus({ preventScroll: true });
  else if (frames > 0) requestAnimationFrame(() => focusMessage(position, frames - 1));
}

/** Returns the position of the selected message or of the first on the screen; nothing at the end. */
function placeOf(list: List, selected: number | undefined, base: number): number | undefined {
  if (isOnScreen(list, selected, base)) return selected;
  return list.isAtEnd(END_PX) ? undefined : base + (firstVisible(list) ?? 0);
}

function firstVisible(list: List): number | undefined {
  const offset = list.scrollOffset ?? 0;
  return list.getVirtualItems().find(({ end }) => end > offset + 8)?.index;
}

function isOnScreen(list: List, position: number | undefined, base: number): boolean {
  const top = list.scrollOffset ?? 0;
  const bottom = top + (list.scrollRect?.height ?? 0);
  const row = list.getVirtualItems().find(({ index }) => base + index === position);
  return row !== undefined && row.end > top + 8 && row.start < bottom;
}

/** Resolves to the position of a message. When it cannot be shown, says so and resolves to nothing. */
async function positionOf(conversation: Conversation, messageId: string): Promise<number | undefined> {
  try {
    const { info } = await getMessage(conversation.sessionId, messageId, conversation.signal);
    return info.position === undefined ? undefined : Number(info.position);
  } catch (error) {
    if (!conversation.signal.aborted) toast(`That message cannot be shown. ${reasonOf(error)}`, { isError: true });
    return undefined;
  }
}
