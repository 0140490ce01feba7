import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";

/** How long content that was opened or closed by a click may take to reach its size. */
const HOLD_MS = 100;

/** Keeps what was clicked in its place on the screen while something opens or closes there. */
export function useHeld(scroller: RefObject<HTMLElement | null>) {
  const [held, setHeld] = useState<{ readonly element: Element; readonly top: number } | undefined>();

  useLayoutEffect(() => {
    if (scroller.current === null || !held?.element.isConnected) return;
    const moved = held.element.getBoundingClientRect().top - held.top;
    if (Math.abs(moved) >= 1) scroller.current.scrollTop += moved;
  });

  useEffect(() => {
    if (held === undefined) return;
    const timer = setTimeout(() => setHeld(undefined), HOLD_MS);
    return () => clearTimeout(timer);
  }, [held]);

  return {
    isHolding: held !== undefined,
    hold: ({ target }: Event) => {
      const element = (target as Element).closest("button, summary, article");
      // The key that opens several parts clicks them one after the other. The first of them stays in place.
      if (element !== null) setHeld((before) => before ?? { element, top: element.getBoundingClientRect().top });
    },
    release: () => setHeld(undefined),
  };
}
