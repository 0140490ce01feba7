import { type ReadonlySignal, signal } from "@preact/signals";
import { ticketText } from "../api/ticket.js";
import type { Annotation, Session } from "../api/types.js";
import { Conversation } from "./conversation.js";

export type PanelName = "outline" | "search" | "timeline" | "forks" | "files" | "details";

const small = matchMedia("(max-width: 760px)");

/** Whether the screen is so small that it shows either the list or the session. */
export const isSmall = signal(small.matches);
small.addEventListener("change", ({ matches }) => {
  isSmall.value = matches;
});

/** Which panel is open beside the conversation. */
export const panel = signal<PanelName | undefined>(
  innerWidth >= 1200 && ticketText === undefined ? "outline" : undefined,
);

/** Position of the message that keys act on. */
export const selected = signal<number | undefined>(undefined);

/** Position of the message that the pointer is over. */
export const hovered = signal<number | undefined>(undefined);

export const conversation = signal<Conversation | undefined>(undefined);

/** Opens a session; the one before is closed. */
export function openConversation(sessionId: string | undefined): void {
  conversation.value?.close();
  selected.value = undefined;
  hovered.value = undefined;
  conversation.value = sessionId === undefined ? undefined : new Conversation(sessionId);
}

export interface ConfirmDialog {
  readonly kind: "confirm";
  readonly title: string;
  readonly text: string;
  readonly label: string;
  readonly isDanger: boolean;
  /** What the reader has to type before it can be done. */
  readonly typed?: string;
  /** How far it has come; empty before it has begun. */
  readonly progress?: ReadonlySignal<string>;
  readonly run: () => Promise<void>;
}

export interface PromptDialog {
  readonly kind: "prompt";
  readonly title: string;
  readonly text: string;
  readonly field: string;
  readonly value: string;
  readonly isMultiline?: boolean;
  readonly label: string;
  readonly progress?: ReadonlySignal<string>;
  readonly run: (value: string) => Promise<void>;
}

export type Dialog =
  | ConfirmDialog
  | PromptDialog
  | {
      readonly kind: "edit";
      readonly conversation: Conversation;
      readonly messageId: string;
      readonly position: number;
    }
  | {
      readonly kind: "note";
      readonly conversation: Conversation;
      readonly messageId: string;
      readonly position: number;
      readonly note?: Annotation;
    }
  | { readonly kind: "dataSet"; readonly sessionIds: readonly string[] }
  | { readonly kind: "key" }
  | { readonly kind: "keys" }
  | { readonly kind: "goto" }
  | { readonly kind: "share"; readonly session: Session }
  | { readonly kind: "export"; readonly session: Session };

export const dialog = signal<Dialog | undefined>(undefined);

/** Where to go in the session. The message list listens to this. */
export type Jump = { readonly to: "start" | "end" } | { readonly to: number; readonly align?: "auto" };

export const jump = signal<Jump | undefined>(undefined);

/** The message whose tools were just opened and are to be seen. The message list listens to this. */
export const toolsOpened = signal<HTMLElement | undefined>(undefined);

/** On a small screen, the panel covers the messages, and closes when one has been chosen. */
export function leavePanel(): void {
  if (innerWidth < 1000) panel.value = undefined;
}
