import { Download, Ellipsis, GitFork, type IconNode, Pencil, Share2, Tag, Trash2 } from "lucide";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Session } from "../api/types.js";
import { editLabels, forkWhole, remove, rename } from "../state/actions.js";
import type { Conversation } from "../state/conversation.js";
import { dialog } from "../state/ui.js";
import { Icon } from "./icon.js";

/** What can be done with a whole session. */
export function SessionMenu({ session, conversation }: { session: Session; conversation: Conversation }) {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  // The first item has the focus before the next key is pressed.
  useLayoutEffect(() => {
    if (!open) return;
    box.current?.querySelector<HTMLElement>("[role=menuitem]")?.focus();
    const closeOutside = ({ target }: Event) => {
      if (!box.current?.contains(target as Node)) setOpen(false);
    };
    addEventListener("pointerdown", closeOutside);
    return () => removeEventListener("pointerdown", closeOutside);
  }, [open]);

  function onKeyDown(event: KeyboardEvent): void {
    if (event.key === "Escape") {
      setOpen(false);
      box.current?.querySelector("button")?.focus();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const all = [...(box.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
      const next = all.indexOf(document.activeElement as HTMLElement) + (event.key === "ArrowDown" ? 1 : -1);
      all[(next + all.length) % all.length]?.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  return (
    <div class="menu" ref={box}>
      <button
        type="button"
        class="icon-button"
        aria-label="Actions"
        title="Actions"
        aria-haspopup="menu"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        <Icon node={Ellipsis} size={18} />
        <span class="word">Actions</span>
      </button>
      {open && (
        <div class="menu-items" role="menu" tabindex={-1} aria-label="Actions" onKeyDown={onKeyDown}>
          {itemsOf(session, conversation).map((item) => (
            <MenuItem
              key={item.label}
              item={item}
              onChosen={() => {
                // A dialog that opens now will return the focus to the button, because the menu items are gone by then.
                box.current?.querySelector("button")?.focus();
                setOpen(false);
              }}
            />
          ))}
        </div>
      )}
    </div>
  );
}

interface Item {
  readonly label: string;
  readonly node: IconNode;
  readonly run: () => void;
  readonly isDanger?: boolean;
}

function itemsOf(session: Session, conversation: Conversation): readonly Item[] {
  return [
    { label: "Rename", node: Pencil, run: () => rename(session, conversation) },
    { label: "Labels", node: Tag, run: () => editLabels(session, conversation) },
    { label: "Fork", node: GitFork, run: () => forkWhole(session) },
    { label: "Share", node: Share2, run: () => (dialog.value = { kind: "share", session }) },
    { label: "Export", node: Download, run: () => (dialog.value = { kind: "export", session }) },
    { label: "Delete", node: Trash2, run: () => remove(session), isDanger: true },
  ];
}

function MenuItem({ item, onChosen }: { item: Item; onChosen: () => void }) {
  const { label, node, run, isDanger } = item;
  return (
    <button
      type="button"
      role="menuitem"
      tabindex={-1}
      class={isDanger ? "danger" : ""}
      onClick={() => {
        onChosen();
        run();
      }}
    >
      <Icon node={node} /> {label}
    </button>
  );
}
