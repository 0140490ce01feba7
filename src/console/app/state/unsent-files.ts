import { signal } from "@preact/signals";
import { deleteAttachment, uploadAttachment } from "../api/attachments.js";
import { reasonOf } from "./toasts.js";

/** A file that is to go with the message that is being typed. */
export interface UnsentFile {
  readonly attachmentId: string;
  readonly sessionId: string;
  readonly file: File;
  readonly state: "sending" | "sent" | "failed";
  /** Number of bytes that have left. */
  readonly sent: number;
  /** Why it was not sent; empty when nothing went wrong. */
  readonly problem: string;
}

const unsentFiles = signal<readonly UnsentFile[]>([]);

const running = new Map<string, AbortController>();

/** Uploads files, each at once. They are kept for a day if no message names them. */
export function addFiles(sessionId: string, files: Iterable<File>): void {
  for (const file of files) {
    const attachmentId = newId();
    const added: UnsentFile = { attachmentId, sessionId, file, state: "sending", sent: 0, problem: "" };
    unsentFiles.value = [...unsentFiles.peek(), added];
    void send(added);
  }
}

export function retryFile(one: UnsentFile): void {
  change(one.attachmentId, { state: "sending", sent: 0, problem: "" });
  void send(one);
}

/** Takes a file away again, and its bytes from the service. */
export function removeFile({ attachmentId, sessionId, state }: UnsentFile): void {
  unsentFiles.value = unsentFiles.peek().filter((one) => one.attachmentId !== attachmentId);
  running.get(attachmentId)?.abort();
  // If this fails, the service removes the file after a day.
  if (state === "sent") void deleteAttachment(sessionId, attachmentId).catch(() => undefined);
}

/** The files that are to go with a message of a session. */
export function filesOf(sessionId: string): readonly UnsentFile[] {
  return unsentFiles.value.filter((one) => one.sessionId === sessionId);
}

/** A message names these files now. */
export function forgetFiles(files: readonly UnsentFile[]): void {
  unsentFiles.value = unsentFiles.peek().filter((one) => !files.includes(one));
}

/** Pages that are not loaded by HTTPS have no randomUUID. */
export function newId(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function send({ sessionId, attachmentId, file }: UnsentFile): Promise<void> {
  const stop = new AbortController();
  running.set(attachmentId, stop);
  try {
    const onSent = (sent: number) => change(attachmentId, { sent });
    await uploadAttachment(sessionId, attachmentId, file, { signal: stop.signal, onSent });
    change(attachmentId, { state: "sent", sent: file.size });
  } catch (error) {
    change(attachmentId, { state: "failed", problem: reasonOf(error) });
  } finally {
    running.delete(attachmentId);
  }
}

function change(attachmentId: string, fields: Partial<UnsentFile>): void {
  unsentFiles.value = unsentFiles
    .peek()
    .map((one) => (one.attachmentId === attachmentId ? { ...one, ...fields } : one));
}
