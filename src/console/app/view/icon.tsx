import type { IconNode } from "lucide";
import { h } from "preact";

/** Icons are hidden from screen readers, because the element around each has a label. */
export function Icon({ node, size = 16 }: { node: IconNode; size?: number }) {
  return (
    <svg
      class="icon"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width="2"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      {node.map(([tag, attributes]) => h(tag, attributes as Record<string, string>))}
    </svg>
  );
}

export function IconButton(props: {
  node: IconNode;
  label: string;
  /** A word of the label, which is shown where there is room, or where no pointer can ask for the label. */
  word?: string;
  onClick: (event: MouseEvent) => void;
  class?: string;
  pressed?: boolean;
  expanded?: boolean;
  disabled?: boolean;
  /** Marks the button that the key r presses. */
  isRaw?: boolean;
}) {
  return (
    <button
      type="button"
      class={`icon-button ${props.class ?? ""}`}
      aria-label={props.label}
      title={props.label}
      aria-pressed={props.pressed}
      aria-expanded={props.expanded}
      disabled={props.disabled}
      data-raw={props.isRaw}
      onClick={props.onClick}
    >
      <Icon node={props.node} size={18} />
      {props.word && <span class="word">{props.word}</span>}
    </button>
  );
}
