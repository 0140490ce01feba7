import { effect, signal } from "@preact/signals";

/** A tab that is hidden for less than this keeps its connection, so that a glance at another tab does not close it. */
const HIDDEN_MS = 2000;

/** Whether the tab has been hidden for two seconds. */
export const isHidden = signal(document.hidden);

let hiding: ReturnType<typeof setTimeout> | undefined;
document.addEventListener("visibilitychange", () => {
  clearTimeout(hiding);
  if (document.hidden) hiding = setTimeout(() => (isHidden.value = true), HIDDEN_MS);
  else isHidden.value = false;
});

/** Resolves as soon as the tab is not hidden. */
export function whenVisible(): Promise<void> {
  return new Promise((resolve) => {
    const stop = effect(() => {
      if (isHidden.value) return;
      resolve();
      // The effect cannot stop itself during its first run.
      queueMicrotask(() => stop());
    });
  });
}
