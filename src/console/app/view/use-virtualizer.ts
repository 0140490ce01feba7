import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualizerOptions,
} from "@tanstack/virtual-core";
import { useLayoutEffect, useReducer, useRef } from "preact/hooks";

type Options = Pick<
  VirtualizerOptions<HTMLElement, HTMLElement>,
  | "count"
  | "getScrollElement"
  | "estimateSize"
  | "overscan"
  | "anchorTo"
  | "followOnAppend"
  | "paddingEnd"
  | "paddingStart"
  | "scrollEndThreshold"
>;

/** TanStack's virtual list, which renders again whenever the visible rows change. */
export function useVirtualizer(options: Options): Virtualizer<HTMLElement, HTMLElement> {
  const [, rerender] = useReducer((renders: number) => renders + 1, 0);
  const made = useRef<Virtualizer<HTMLElement, HTMLElement> | undefined>(undefined);
  const all: VirtualizerOptions<HTMLElement, HTMLElement> = {
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => rerender(undefined),
    ...options,
  };
  made.current ??= new Virtualizer(all);
  const virtualizer = made.current;
  virtualizer.setOptions(all);
  useLayoutEffect(() => virtualizer._didMount(), [virtualizer]);
  useLayoutEffect(() => virtualizer._willUpdate());
  return virtualizer;
}
