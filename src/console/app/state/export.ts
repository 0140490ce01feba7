import type { PartView } from "../../../parts/part-view.js";
import { viewsOf } from "../../../parts/recognise.js";
import { listAttachments, readAttachment } from "../api/attachments.js";
import { getSession, listMessages } from "../api/calls.js";
import type { Attachment, Message, Session } from "../api/types.js";
import { byteSize } from "../text/format.js";
import { attachmentLines, backupLines } from "./backup-lines.js";
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
  const messages: Message[] = [];
  let pageToken = "";
  do {
    const page = await listMessages(session.sessionId, { limit: LIMIT, pageToken }, signal);
    for (const message of page.messages) messages.push(message);
    onRead(messages.length);
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  const pieces =
    format === "json"
      ? await withFiles(await getSession(session.sessionId, signal), messages, signal)
      : [`# ${session.title || session.sessionId}\n`, ...messages.map(asMarkdown)];
  const [type, extension] = TYPES[format];
  save(new Blob(pieces, { type }), `${session.sessionId.replace(/[^\w.-]+/g, "_")}.${extension}`);
  return messages.length;
}

async function withFiles(session: Session, messages: readonly Message[], signal: AbortSignal): Promise<BlobPart[]> {
  const named = new Set(messages.flatMap(({ parts }) => parts.flatMap((part) => part.attachment?.attachmentId ?? [])));
  const attachments: Attachment[] = [];
  let pageToken = "";
  do {
    const page = await listAttachments(session.sessionId, pageToken, signal);
    // Drafts are not saved, nor what only they show.
    attachments.push(...page.attachments.filter(({ attachmentId }) => named.has(attachmentId)));
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  const { head, end } = backupLines(session, messages, attachments);
  const lines: BlobPart[] = [...head];
  for (const attachment of attachments) {
    const blob = await readAttachment(session.sessionId, attachment, { signal });
    lines.push(...(await attachmentLines(attachment, blob)));
  }
  return [...lines, end];
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
