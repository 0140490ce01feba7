import { X } from "lucide";
import { useEffect } from "preact/hooks";
import { dismiss, dismissAll, toasts } from "../state/toasts.js";
import { dialog } from "../state/ui.js";
import { IconButton } from "./icon.js";

export function Toasts() {
  const isDialogOpen = dialog.value !== undefined;
  useEffect(() => {
    if (isDialogOpen) dismissAll();
  }, [isDialogOpen]);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, isError, action }) => (
        <div key={id} class={`toast ${isError ? "toast-error" : ""}`}>
          <span>{text}</span>
          {action && (
            <button
              type="button"
              class="text-button"
              onClick={() => {
                dismiss(id);
                action.run();
              }}
            >
              {action.label}
            </button>
          )}
          <IconButton node={X} label="Dismiss" onClick={() => dismiss(id)} />
        </div>
      ))}
    </div>
  );
}
