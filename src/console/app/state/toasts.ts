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
  /** What the note tells of. A newer note of the same takes its place. */
  readonly key: string;
}

interface Options extends Partial<Pick<Toast, "isError" | "action" | "about" | "key">> {
  /** Reads signals, and says whether the action has nothing left to do. The note then goes away. */
  readonly isOver?: () => boolean;
  /** The note goes away when this is aborted, because nobody hears any more whether its action is over. */
  readonly until?: AbortSignal;
}

const SHOWN_MS = 8000;
let lastId = 0;

export const toasts = signal<readonly Toast[]>([]);

export function toast(text: string, { isOver, until, ...options }: Options = {}): void {
  lastId += 1;
  const made = { id: lastId, text, isError: false, key: text, ...options };
  const others = toasts.peek().filter(({ key }) => key !== made.key);
  toasts.value = [...others.slice(-3), made];
  const stop = isOver && effect(() => void (isOver() && dismiss(made.id)));
  const end = () => {
    stop?.();
    dismiss(made.id);
  };
  until?.addEventListener("abort", end, { once: true });
  setTimeout(end, SHOWN_MS);
}

/** Takes all notes away: those that have been read would lie behind a dialog until it is closed. */
export function dismissAll(): void {
  if (toasts.peek().length > 0) toasts.value = [];
}

export function dismiss(id: number): void {
  toasts.value = toasts.peek().filter((one) => one.id !== id);
}

/** Takes away the notes whose action needs a session that is gone. */
export function dismissAbout(sessionId: string): void {
  toasts.value = toasts.peek().filter(({ about }) => about !== sessionId);
}

/** Runs an action and shows a note if it fails, with a way to try again. Resolves to whether it succeeded. */
export async function attempt(what: string, action: () => Promise<void>): Promise<boolean> {
  try {
    await insistently(action);
    return true;
  } catch (error) {
    const again = { label: "Try again", run: () => void attempt(what, action) };
    toast(`${what} did not work. ${reasonOf(error)}`, {
      isError: true,
      key: `${what} failed`,
      ...(mayWorkLater(error) && { action: again }),
    });
    return false;
  }
}

const TRIES = 3;
const PAUSE_MS = 100;

/** Repeats an action that met another change of the session. The service has then changed nothing. */
export async function insistently<T>(action: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await action();
    } catch (error) {
      if (!isConflict(error) || tries === TRIES) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * tries));
  }
}

/** Whether the service changed nothing because something else changed at the same moment. */
export function isConflict(error: unknown): boolean {
  return error instanceof ApiError && error.code === CODE.aborted;
}

export function isForbidden(error: unknown): boolean {
  return error instanceof ApiError && error.code === CODE.permissionDenied;
}

/** Whether the session, or what was asked for of it, does not exist, or not any more. */
export function isGone(error: unknown): boolean {
  return error instanceof ApiError && error.code === CODE.notFound;
}

function mayWorkLater(error: unknown): boolean {
  return error instanceof Unreachable || isConflict(error) || isUnavailable(error);
}

function isUnavailable(error: unknown): boolean {
  return error instanceof ApiError && error.code === CODE.unavailable;
}

export function reasonOf(error: unknown): string {
  if (error instanceof Unreachable) return `${error.message}.`;
  if (!(error instanceof ApiError)) return "An unexpected error occurred on this page.";
  if (error.code === CODE.permissionDenied)
    return `${error.message}. This ${ticketText === undefined ? "key" : "link"} does not allow it.`;
  if (isConflict(error)) return `${error.message}. It changed at the same moment, so nothing was done: try again.`;
  return `${error.message}.`;
}
