import { signal } from "@preact/signals";
import { appendMessage } from "../api/calls.js";
import { reasonOf } from "./toasts.js";
import { filesOf, forgetFiles, newId } from "./unsent-files.js";

/** What has been typed below the session and not been sent. It stays when the session can no longer be written to. */
export const unsent = signal("");
export const isSending = signal(false);
/** Why it was not sent; empty when nothing went wrong. */
export const sendProblem = signal("");

/** Whether there is something to send, and all files have arrived. */
export function canSend(sessionId: string): boolean {
  const files = filesOf(sessionId);
  return (unsent.value.trim() !== "" || files.length > 0) && files.every(({ state }) => state === "sent");
}

/** The id of the message that is being typed. Sending the same text again cannot append it twice. */
let messageId = newId();

export function type(text: string): void {
  unsent.value = text;
  sendProblem.value = "";
  messageId = newId();
}

/** Appends what has been typed as a message of the user. Resolves to whether that worked. */
export async function send(sessionId: string): Promise<boolean> {
  if (isSending.value || !canSend(sessionId)) return false;
  isSending.value = true;
  sendProblem.value = "";
  const files = filesOf(sessionId);
  try {
    const text = unsent.value.trim() === "" ? [] : [{ type: "text", text: unsent.value }];
    const parts = [...text, ...files.map(({ attachmentId }) => ({ type: "file", attachment: { attachmentId } }))];
    await appendMessage(sessionId, { info: { id: messageId, role: "user" }, parts });
    forgetFiles(files);
    type("");
    return true;
  } catch (error) {
    sendProblem.value = reasonOf(error);
    return false;
  } finally {
    isSending.value = false;
  }
}
