import type { PartView } from "../../../parts/part-view.js";
import { viewsOf } from "../../../parts/recognise.js";
import { listAttachments, readAttachment } from "../api/attachments.js";
import { getSession, listMessages } from "../api/calls.js";
import type { Attachment, Message, Session } from "../api/types.js";
import { byteSize } from "../text/format.js";
import { readAnnotations } from "./annotations.js";
import { attachmentLines, backupFrame, backupLines } from "./backup-lines.js";
import { type Choice, type Context, chosen, dataSetLines } from "./data-set.js";
import { save } from "./save.js";

export type ExportFormat = "json" | "markdown";

const LIMIT = 1000;
const TYPES: Readonly<Record<ExportFormat, readonly [type: string, extension: string]>> = {
  json: ["application/x-ndjson", "jsonl"],
  markdown: ["text/markdown", "md"],
};

/** Reads a whole session, with its files in JSON lines, and saves it as a file. Resolves to the number of messages. */
export async function exportSession(
  session: Session,
  format: ExportFormat,
  signal: AbortSignal,
  onRead: (count: number) => void,
): Promise<number> {
  const messages = await readAll(session.sessionId, signal, onRead);
  const [first, last] = backupFrame();
  const pieces =
    format === "json"
      ? [first, ...(await linesOf(session.sessionId, messages, NOTHING, signal)).lines, last]
      : [`# ${session.title || session.sessionId}\n`, ...messages.map(asMarkdown)];
  const [type, extension] = TYPES[format];
  save(new Blob(pieces, { type }), `${fileName(session.sessionId)}.${extension}`);
  return messages.length;
}

/** Saves many sessions, with their files, as one backup. Resolves to the number of messages. */
export async function exportAll(sessions: readonly Session[], onDone: (count: number) => void): Promise<number> {
  const [first, last] = backupFrame();
  const { signal } = new AbortController();
  const pieces: BlobPart[] = [first];
  let before = NOTHING;
  for (const [i, { sessionId }] of sessions.entries()) {
    const messages = await readAll(sessionId, signal, () => undefined);
    const { lines, attachments } = await linesOf(sessionId, messages, before, signal);
    // A Blob of its own can be kept on the disk by the browser.
    pieces.push(new Blob(lines));
    before = { messages: before.messages + messages.length, attachments: before.attachments + attachments };
    onDone(i + 1);
  }
  save(new Blob([...pieces, last], { type: TYPES.json[0] }), `sessions-${new Date().toISOString().slice(0, 10)}.jsonl`);
  return before.messages;
}

export interface DataSetChoice {
  readonly choice: Choice;
  readonly context: Context;
  /** Position of the selected message. */
  readonly selected: number | undefined;
}

/** Saves chosen messages of sessions with their feedback. Resolves to their number; if there is none, saves nothing. */
export async function exportDataSet(
  sessionIds: readonly string[],
  { choice, context, selected }: DataSetChoice,
  signal: AbortSignal,
  onRead: (count: number) => void,
): Promise<number> {
  const pieces: Blob[] = [];
  let saved = 0;
  let before = 0;
  for (const sessionId of sessionIds) {
    const annotations = await readAnnotations(sessionId, signal);
    const isByNotes = choice === "up" || choice === "down" || choice === "noted";
    if (isByNotes && annotations.length === 0) continue;
    const read = before;
    const messages = await readAll(sessionId, signal, (number) => onRead(read + number));
    before += messages.length;
    const positions = chosen(messages, annotations, choice, selected);
    // A Blob of its own can be kept on the disk by the browser.
    pieces.push(new Blob([...dataSetLines(sessionId, messages, annotations, positions, context)]));
    saved += positions.length;
  }
  const name = sessionIds.length === 1 ? fileName(sessionIds[0] as string) : "sessions";
  if (saved > 0) save(new Blob(pieces, { type: TYPES.json[0] }), `${name}-data-set.jsonl`);
  return saved;
}

function fileName(sessionId: string): string {
  return sessionId.replace(/[^\w.-]+/g, "_");
}

const NOTHING = { messages: 0, attachments: 0 };

/** Reads all messages of a session, oldest first. */
async function readAll(
  sessionId: string,
  signal: AbortSignal,
  onRead: (count: number) => void,
): Promise<readonly Message[]> {
  const messages: Message[] = [];
  let pageToken = "";
  do {
    const page = await listMessages(sessionId, { limit: LIMIT, pageToken }, signal);
    for (const message of page.messages) messages.push(message);
    onRead(messages.length);
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  return messages;
}

async function linesOf(
  sessionId: string,
  messages: readonly Message[],
  before: typeof NOTHING,
  signal: AbortSignal,
): Promise<{ readonly lines: BlobPart[]; readonly attachments: number }> {
  const session = await getSession(sessionId, signal);
  const named = new Set(messages.flatMap(({ parts }) => parts.flatMap((part) => part.attachment?.attachmentId ?? [])));
  const attachments: Attachment[] = [];
  let pageToken = "";
  do {
    const page = await listAttachments(sessionId, pageToken, signal);
    // Drafts are not saved, nor what only they show.
    attachments.push(...page.attachments.filter(({ attachmentId }) => named.has(attachmentId)));
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  const annotations = await readAnnotations(sessionId, signal);
  const lines: BlobPart[] = [...backupLines(session, messages, attachments, annotations, before)];
  for (const attachment of attachments) {
    const blob = await readAttachment(sessionId, attachment, { signal });
    lines.push(...(await attachmentLines(attachment, blob)));
  }
  return { lines, attachments: attachments.length };
}

function asMarkdown(message: Message): string {
  const { role, timestamp } = message.info;
  return `\n## ${role} (${timestamp})\n\n${viewsOf(message).map(partAsMarkdown).join("\n\n")}\n`;
}

function partAsMarkdown(view: PartView): string {
  switch (view.kind) {
    case "text":
      return view.text;
    case "reasoning":
    case "error":
      return view.text.replace(/^/gm, "> ");
    case "attachment": {
      const { name, mediaType, size } = view.attachment;
      return `*File: ${[name, mediaType, byteSize(size)].filter(Boolean).join(", ")}*`;
    }
    case "call":
      return fenced(
        JSON.stringify(
          { tool: view.name, arguments: view.args, output: view.output?.text ?? view.output?.json },
          null,
          2,
        ),
      );
    case "result":
      return fenced(view.output.text ?? JSON.stringify(view.output.json ?? null, null, 2));
    default:
      return fenced(JSON.stringify(view, null, 2));
  }
}

/** Puts a text between fences that are longer than any fence in it. */
function fenced(text: string): string {
  const longest = (text.match(/`+/g) ?? []).reduce((most, { length }) => Math.max(most, length), 2);
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}
