import type { Virtualizer } from "@tanstack/virtual-core";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { getMessage } from "../api/calls.js";
import type { Conversation } from "../state/conversation.js";
import { noteWhere, type Route, route } from "../state/route.js";
import { reasonOf, toast } from "../state/toasts.js";
import { jump, selected } from "../state/ui.js";

type List = Virtualizer<HTMLElement, HTMLElement>;

/** How long after the last scrolling the address says where the reader is. */
const NOTE_MS = 250;
/** Pixels from the end within which a reader is at the end. */
export const END_PX = 60;

/** Brings the reader to what the address names, keeps the address in step, and counts what comes below the screen. */
export function useListPosition(conversation: Conversation, list: List, base: number) {
  const [seen, setSeen] = useState(conversation.history.count.value);
  const isPlaced = useRef(false);
  const opened = useRef<Route | undefined>(route.peek());
  const count = conversation.history.count.value;
  const isAtEnd = list.isAtEnd(END_PX);

  useLayoutEffect(() => {
    if (isPlaced.current || conversation.session.value === undefined) return;
    isPlaced.current = true;
    const to = route.peek();
    if (to.view !== "session" || (to.at === undefined && to.messageId === undefined)) list.scrollToEnd();
    else if (to.at !== undefined)
      list.scrollToIndex(Math.max(0, Math.min(to.at, count - 1) - base), { align: "start" });
    else void jumpToMessage(conversation, to.messageId as string);
  });

  useEffect(
    () =>
      route.subscribe((to) => {
        // The address that the session was opened by is told as well; the effect above goes there.
        if (to === opened.current) return;
        opened.current = undefined;
        if (!isPlaced.current || to.view !== "session" || to.sessionId !== conversation.sessionId) return;
        if (to.messageId !== undefined) void jumpToMessage(conversation, to.messageId);
        else if (to.at !== undefined) jump.value = { to: to.at };
      }),
    [conversation],
  );

  useEffect(
    () =>
      jump.subscribe((wanted) => {
        if (wanted === undefined) return;
        jump.value = undefined;
        if (wanted.to === "end") list.scrollToEnd();
        else if (typeof wanted.to !== "number") list.scrollToIndex(0, { align: "start" });
        else {
          list.scrollToIndex(Math.max(0, wanted.to - base), { align: ("align" in wanted && wanted.align) || "start" });
          selected.value = wanted.to;
          focusMessage(wanted.to);
        }
      }),
    [list, base],
  );

  useEffect(() => {
    if (isAtEnd && seen !== count) setSeen(count);
    else if (seen > count) setSeen(count);
  });

  const first = firstVisible(list);
  useEffect(() => {
    if (!isPlaced.current || first === undefined) return;
    const timer = setTimeout(() => {
      const { sessionId } = conversation;
      noteWhere(isAtEnd ? { view: "session", sessionId } : { view: "session", sessionId, at: base + first });
    }, NOTE_MS);
    return () => clearTimeout(timer);
  }, [first, isAtEnd, base, conversation]);

  return { isAtEnd, unseen: Math.max(0, count - seen) };
}

/** Reading programs and the Tab key go on from the message, once it is on the page. */
function focusMessage(position: number, frames = 10): void {
  const article = document.querySelector<HTMLElement>(`article[data-position="${position}"]`);
  if (article !== null) article.focus({ preventScroll: true });
  else if (frames > 0) requestAnimationFrame(() => focusMessage(position, frames - 1));
}

function firstVisible(list: List): number | undefined {
  const offset = list.scrollOffset ?? 0;
  return list.getVirtualItems().find(({ end }) => end > offset + 8)?.index;
}

async function jumpToMessage(conversation: Conversation, messageId: string): Promise<void> {
  try {
    const { info } = await getMessage(conversation.sessionId, messageId, conversation.signal);
    if (info.position !== undefined) jump.value = { to: Number(info.position) };
  } catch (error) {
    if (!conversation.signal.aborted) toast(`That message cannot be shown. ${reasonOf(error)}`, { isError: true });
  }
}
