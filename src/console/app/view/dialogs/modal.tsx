import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { dialog } from "../../state/ui.js";

export function closeDialog(): void {
  dialog.value = undefined;
}

/** The browser's own dialog: it keeps the focus inside, and Esc closes it. */
export function Modal({ title, children }: { title: string; children: ComponentChildren }) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const shown = box.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  return (
    <dialog ref={box} aria-label={title} onClose={closeDialog}>
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}
