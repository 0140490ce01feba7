import { X } from "lucide";
import { dismiss, toasts } from "../state/toasts.js";
import { IconButton } from "./icon.js";

export function Toasts() {
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
