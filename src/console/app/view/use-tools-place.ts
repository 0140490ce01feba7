import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

/** Distance to the edge of the list. */
const MARGIN_PX = 4;

/** Keeps the tools of a message in view when the place that the style sheet gives them has been scrolled away. */
export function useToolsPlace(tools: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const box = tools.current;
    const scroller = box?.closest(".scroller");
    const message = box?.parentElement;
    if (!box || !scroller || !message) return;
    const usualPx = box.offsetTop;
    const place = () => {
      const hiddenPx = scroller.getBoundingClientRect().top - message.getBoundingClientRect().top;
      const lowestPx = message.offsetHeight - box.offsetHeight;
      const topPx = Math.max(usualPx, Math.min(hiddenPx + MARGIN_PX, lowestPx));
      box.style.inset = topPx === usualPx ? "" : `${topPx}px 8px auto auto`;
    };
    place();
    scroller.addEventListener("scroll", place, { passive: true });
    return () => scroller.removeEventListener("scroll", place);
  }, [tools]);
}
