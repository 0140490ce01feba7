import { toast } from "../state/toasts.js";

/** Browsers offer no clipboard over plain HTTP from another host. The text is then shown, to be copied by hand. */
export async function copyText(text: string, done: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast(done);
  } catch {
    window.prompt("Copy this:", text);
  }
}
