import { signal } from "@preact/signals";
import { appendMessage } from "../api/calls.js";
import { reasonOf } from "./toasts.js";

/** What has been typed below the session and not been sent. It stays when the session can no longer be written to. */
export const unsent = signal("");
export const isSending = signal(false);
/** Why it was not sent; empty when nothing went wrong. */
export const sendProblem = signal("");

/** The id of the message that is being typed. Sending the same text again cannot append it twice. */
let messageId = newId();

export function type(text: string): void {
  unsent.value = text;
  sendProblem.value = "";
  messageId = newId();
}

/** Appends what has been typed as a message of the user. Resolves to whether that worked. */
export async function send(sessionId: string): Promise<boolean> {
  if (isSending.value || unsent.value.trim() === "") return false;
  isSending.value = true;
  sendProblem.value = "";
  try {
    const parts = [{ type: "text", text: unsent.value }];
    await appendMessage(sessionId, { info: { id: messageId, role: "user" }, parts });
    type("");
    return true;
  } catch (error) {
    sendProblem.value = reasonOf(error);
    return false;
  } finally {
    isSending.value = false;
  }
}

function newId(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
