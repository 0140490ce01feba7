import { toast } from "../state/toasts.js";

/** Over plain HTTP from another host a browser gives no clipboard; then the text is offered to copy by hand. */
export async function copyText(text: string, done: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast(done);
  } catch {
    window.prompt("Copy this:", text);
  }
}
