import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { dialog } from "../../state/ui.js";

export function closeDialog(): void {
  dialog.value = undefined;
}

interface ModalProps {
  readonly title: string;
  readonly isWide?: boolean;
  /** Makes the dialog a form, which Enter in a field and the button of type `submit` submit. */
  readonly onSubmit?: () => void;
  readonly children: ComponentChildren;
}

/** The browser's own dialog: it keeps the focus inside, Esc closes it, and the focus returns to where it was. */
export function Modal({ title, isWide = false, onSubmit, children }: ModalProps) {
  const box = useRef<HTMLDialogElement>(null);
  // The dialog has the focus before the next key is pressed, so that the key is typed into it.
  useLayoutEffect(() => {
    const shown = box.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  function onClose(): void {
    // The event of a dialog that is gone comes later, when another dialog may be open.
    if (box.current !== null) closeDialog();
  }
  function submit(event: Event): void {
    event.preventDefault();
    onSubmit?.();
  }
  return (
    <dialog ref={box} class={isWide ? "wide" : ""} aria-label={title} onClose={onClose}>
      <h2>{title}</h2>
      {onSubmit ? <form onSubmit={submit}>{children}</form> : children}
    </dialog>
  );
}

interface DialogEndProps {
  /** What went wrong; empty when nothing did. */
  readonly problem?: string;
  /** What the button that closes the dialog says. */
  readonly close?: string;
  readonly children?: ComponentChildren;
}

/** The end of every dialog: what went wrong, the button that closes it, and the buttons that act. */
export function DialogEnd({ problem = "", close = "Cancel", children }: DialogEndProps) {
  return (
    <>
      {problem && (
        <p class="bad" role="alert">
          {problem}
        </p>
      )}
      <p class="actions">
        <button type="button" class="button" onClick={closeDialog}>
          {close}
        </button>
        {children}
      </p>
    </>
  );
}
