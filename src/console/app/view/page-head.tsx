import { ArrowLeft } from "lucide";
import type { ComponentChildren } from "preact";
import { Icon } from "./icon.js";

/** The heading of a page beside the list, with the way back where the list is not beside it. */
export function PageHead({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="home-head">
      <a class="icon-button back" href="#/" aria-label="All sessions">
        <Icon node={ArrowLeft} size={18} />
      </a>
      <h1>{title}</h1>
      {children}
    </div>
  );
}
