import { anthropicParts } from "./anthropic-parts.js";
import { microsOf, objectAt, rest, textAt } from "./fields.js";
import { injectedTag } from "./injected.js";
import type { ForeignMessage, ForeignPart } from "./reader.js";

type Line = Record<string, unknown>;

/** Fields of a line that the message holds in another way. */
const READ = ["uuid", "parentUuid", "type", "timestamp", "message", "content", "sessionId", "isSidechain"] as const;

/** The message of a line; undefined for lines without content, such as those that report progress. */
export function messageOf(line: Line, uuid: string): ForeignMessage | undefined {
  const spoken = spokenOf(line);
  if (spoken === undefined || spoken.parts.length === 0) return undefined;
  const message = rest(objectAt(line, "message"), "role", "content", "type");
  const fields = { ...rest(line, ...READ), ...(message && { message }) };
  return {
    id: uuid,
    ...spoken,
    timestampMicros: microsOf(line.timestamp),
    ...(Object.keys(fields).length > 0 && { metadata: { claude_code: fields } }),
  };
}

function spokenOf(line: Line): Pick<ForeignMessage, "role" | "parts"> | undefined {
  switch (line.type) {
    case "user":
      return userOf(line);
    case "assistant":
      return { role: "assistant", parts: anthropicParts(objectAt(line, "message").content) };
    case "system":
      return { role: "system", parts: anthropicParts(line.content) };
    case "attachment":
      return attachmentOf(objectAt(line, "attachment"));
    default:
      return undefined;
  }
}

/** Messages of the user, and what Claude Code sends in the user's name: results of tools, notes, summaries. */
function userOf(line: Line): Pick<ForeignMessage, "role" | "parts"> {
  const parts = anthropicParts(objectAt(line, "message").content).map(spokenPart);
  const isHidden = line.isMeta === true || line.isCompactSummary === true || line.isVisibleInTranscriptOnly === true;
  if (isHidden) return { role: "system", parts: parts.map(asText) };
  if (parts.length > 0 && parts.every(({ type }) => type === "tool_result")) return { role: "tool", parts };
  const isSpoken = parts.some(({ type }) => type !== NOTE && type !== "tool_result");
  return isSpoken ? { role: "user", parts } : { role: "system", parts: parts.map(asText) };
}

/** The type of a part that a program has put beside what the user said. */
const NOTE = "injected";

function spokenPart(part: ForeignPart): ForeignPart {
  const { type, text = "" } = part;
  if (type !== "text") return part;
  const tag = injectedTag(text);
  if (tag !== undefined) return { ...part, type: NOTE, data: { ...part.data, tag } };
  return commandOf(part, text) ?? part;
}

/** A command as it was typed, such as `/model opus` or `!ls`, which Claude Code writes as tags. */
function commandOf(part: ForeignPart, text: string): ForeignPart | undefined {
  const field = (name: string) => new RegExp(`<${name}>([^]*?)</${name}>`).exec(text)?.[1]?.trim() ?? "";
  const shell = /^\s*<bash-input>/.test(text) ? `!${field("bash-input")}` : "";
  const name = /^\s*<command-(?:name|message)>/.test(text) ? field("command-name") : "";
  const command = name === "" ? "" : `/${name.replace(/^\//, "")} ${field("command-args")}`.trim();
  const typed = shell || command;
  return typed === "" ? undefined : { ...part, text: typed, data: { ...part.data, written: text } };
}

function asText(part: ForeignPart): ForeignPart {
  return part.type === NOTE ? { ...part, type: "text" } : part;
}

/** What was queued while the agent worked is the user's; other attachments are context for the model. */
function attachmentOf(attachment: Line): Pick<ForeignMessage, "role" | "parts"> {
  const type = textAt(attachment, "type") || "attachment";
  if (type === "queued_command") return { role: "user", parts: anthropicParts(attachment.prompt).map(spokenPart) };
  const data = rest(attachment, "type");
  return { role: "system", parts: [{ type: `attachment-${type}`, text: textAt(attachment, "content"), data }] };
}
