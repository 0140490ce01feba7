import { effect, signal } from "@preact/signals";
import { ApiError, CODE, Unreachable } from "../api/http.js";
import { ticketText } from "../api/ticket.js";

export interface Toast {
  readonly id: number;
  readonly text: string;
  readonly isError: boolean;
  readonly action?: { readonly label: string; readonly run: () => void };
  /** The session that the action needs. */
  readonly about?: string;
}

interface Options extends Partial<Pick<Toast, "isError" | "action" | "about">> {
  /** Reads signals, and says whether the action has nothing left to do. The note then goes away. */
  readonly isOver?: () => boolean;
}

const SHOWN_MS = 8000;
let lastId = 0;

export const toasts = signal<readonly Toast[]>([]);

export function toast(text: string, { isOver, ...options }: Options = {}): void {
  lastId += 1;
  const made = { id: lastId, text, isError: false, ...options };
  toasts.value = [...toasts.peek().slice(-3), made];
  const stop = isOver && effect(() => void (isOver() && dismiss(made.id)));
  setTimeout(() => {
    stop?.();
    dismiss(made.id);
  }, SHOWN_MS);
}

export function dismiss(id: number): void {
  toasts.value = toasts.peek().filter((one) => one.id !== id);
}

/** Takes away the notes whose action needs a session that is gone. */
export function dismissAbout(sessionId: string): void {
  toasts.value = toasts.peek().filter(({ about }) => about !== sessionId);
}

/** Runs an action and shows a note if it fails. Resolves to whether it succeeded. */
export async function attempt(what: string, action: () => Promise<void>): Promise<boolean> {
  try {
    await action();
    return true;
  } catch (error) {
    toast(`${what} did not work. ${reasonOf(error)}`, { isError: true });
    return false;
  }
}

export function reasonOf(error: unknown): string {
  if (error instanceof Unreachable) return `${error.message}.`;
  if (!(error instanceof ApiError)) return "An unexpected error occurred on this page.";
  if (error.code === CODE.permissionDenied)
    return `${error.message}. This ${ticketText === undefined ? "key" : "link"} does not allow it.`;
  return `${error.message}.`;
}
