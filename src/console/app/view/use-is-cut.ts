import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

/** Whether a box has more at its end than it shows. */
export function useIsCut(box: RefObject<HTMLElement | null>): boolean {
  const [isCut, setCut] = useState(false);
  useLayoutEffect(() => {
    const shown = box.current;
    if (shown === null) return;
    const look = () => setCut(shown.scrollLeft + shown.clientWidth < shown.scrollWidth - 1);
    const sizes = new ResizeObserver(look);
    for (const one of [shown, ...shown.children]) sizes.observe(one);
    shown.addEventListener("scroll", look, { passive: true });
    return () => {
      sizes.disconnect();
      shown.removeEventListener("scroll", look);
    };
  }, [box]);
  return isCut;
}
