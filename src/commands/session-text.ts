import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import type {
  MessageWithParts,
  Part,
  PartAttachment,
  WatchMessagesResponse,
} from "../../gen/sessionpool/v1/message_service_pb.js";
import type { Session } from "../../gen/sessionpool/v1/session_service_pb.js";
import { printable, printableInLine } from "./printable.js";

/** A session in a list: the time of its last update, its id, its owner in parentheses if it has one, and its title. */
export function sessionLine({ updateTime, sessionId, owner, title }: Session): string {
  const whose = owner === "" ? "" : `  (${owner})`;
  return printableInLine(`${timeText(updateTime)}  ${sessionId}${whose}  ${title}`.trimEnd());
}

/** All fields of a session, one a line. */
export function sessionText(session: Session): string {
  const fields = [
    ["session", session.sessionId],
    ["title", session.title],
    ["owner", session.owner],
    ["parent", session.parentId],
    ["messages", String(session.messageCount ?? "")],
    ["created", timeText(session.createTime)],
    ["updated", timeText(session.updateTime)],
    ["reverted", session.reverted ? "yes: unrevert brings messages back" : ""],
    ["metadata", session.metadata === undefined ? "" : JSON.stringify(session.metadata)],
  ] as const;
  const given = fields.filter(([, value]) => value !== "");
  return given.map(([name, value]) => printableInLine(`${name.padEnd(9)} ${value}`)).join("\n");
}

/** A message: a line with its position, time, role and id, followed by its parts. */
export function messageText({ info, parts }: MessageWithParts): string {
  const place = info?.position === undefined ? "" : `#${info.position} `;
  const head = printableInLine(`${place}${timeText(info?.timestamp)} ${info?.role} ${info?.id}`);
  return ["", head, ...parts.map(partText)].join("\n");
}

/** An event of a session that is being watched. */
export function eventText({ event }: WatchMessagesResponse): string {
  if (event.case === "appended") return messageText(event.value);
  if (event.case === "updated") return `\n-- updated:${messageText(event.value)}`;
  if (event.case === "deleted") {
    return `\n${printableInLine(`-- deleted: #${event.value.position ?? 0n} ${event.value.messageId}`)}`;
  }
  if (event.case === "truncated") return `\n-- cut: ${event.value.messageCount ?? 0n} messages still stand`;
  return `\n-- ${event.case}`;
}

function partText({ type, text, data, attachment }: Part): string {
  const structured = data === undefined ? "" : JSON.stringify(data);
  const attached = attachment === undefined ? "" : attachmentText(attachment);
  const content = [text, structured, attached].filter((piece) => piece !== "").join(" ");
  return printable(type === "text" ? content : `[${printableInLine(type)}] ${content}`)
    .split("\n")
    .map((line) => `  ${line}`)
    .join("\n");
}

/** The name of an attachment, or its id if it has none, its type and its size. */
function attachmentText({ attachmentId, name, mediaType, size, missing }: PartAttachment): string {
  const bytes = `${size.toLocaleString("en-US")} bytes`;
  const facts = [name || attachmentId, mediaType, bytes, missing ? "missing" : ""].filter((fact) => fact !== "");
  return `(attachment: ${printableInLine(facts.join(", "))})`;
}

function timeText(time: Timestamp | undefined): string {
  return time === undefined ? "" : timestampDate(time).toISOString();
}
