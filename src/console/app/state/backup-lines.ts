import type { Annotation, Attachment, Message, Part, Session, Usage } from "../api/types.js";
import { jsonLine } from "../text/json-line.js";

/** The first and the last line of a backup. The lines of its sessions are between them. */
export function backupFrame(): readonly [first: string, last: string] {
  return [jsonLine({ format: "session-pool", version: 4 }), jsonLine({ todos: [] })];
}

/**
 * The lines of one session and its messages in a backup, which `session-pool import` reads. They hold all that REST
 * tells of the session, and the lines of its attachments follow them, in their order. `before`: how many messages and
 * attachments the file has before them.
 */
export function backupLines(
  session: Session,
  messages: readonly Message[],
  attachments: readonly Attachment[],
  annotations: readonly Annotation[] = [],
  before: { readonly messages: number; readonly attachments: number } = { messages: 0, attachments: 0 },
): readonly string[] {
  const { sessionId, title, metadata, labels, owner, expireTime, createTime, updateTime } = session;
  const { parentId, forkPointId, inheritedCount, revision } = session;
  const line = {
    sessionId,
    title,
    metadata,
    labels,
    owner: owner || undefined,
    expireTimeMicros: expireTime && microsOf(expireTime),
    createTimeMicros: microsOf(createTime),
    updateTimeMicros: microsOf(updateTime),
    revision: Number(revision),
    parentId,
    forkPointId,
    inheritedCount: Number(inheritedCount),
    messages: messages.length > 0 ? [[before.messages + 1, before.messages + messages.length]] : [],
    ...(annotations.length > 0 && { annotations: notesOf(annotations, messages, sessionId) }),
  };
  const numbers = new Map(attachments.map(({ attachmentId }, i) => [attachmentId, before.attachments + i + 1]));
  const lines = [
    { session: line },
    ...messages.map((message) => ({ message: messageOf(message, sessionId, numbers) })),
  ];
  return lines.map(jsonLine);
}

/** The notes on messages of the file, each with what tells its message from others with the same id. */
function notesOf(annotations: readonly Annotation[], messages: readonly Message[], sessionId: string): object[] {
  const infos = new Map(messages.map(({ info }) => [info.id, info]));
  return annotations.flatMap(({ annotationId, messageId, thumb, text, author, createTime, updateTime }) => {
    const info = infos.get(messageId);
    if (info === undefined) return [];
    return {
      annotationId,
      messageId,
      thumb,
      text,
      author,
      createTimeMicros: microsOf(createTime),
      updateTimeMicros: microsOf(updateTime),
      originSessionId: info.originSessionId || sessionId,
      messageTimestampMicros: microsOf(info.timestamp),
    };
  });
}

/** As many bytes as `session-pool export` writes in one line. A multiple of three, so that no line needs padding. */
const PIECE_BYTES = 3 * 64 * 1024;

/** The lines of one attachment. */
export async function attachmentLines(attachment: Attachment, bytes: Blob): Promise<string[]> {
  const { attachmentId, mediaType, name, size, sha256, createTime } = attachment;
  const facts = { attachmentId, mediaType, name, size: Number(size), sha256, createTimeMicros: microsOf(createTime) };
  const lines = [jsonLine({ attachment: facts })];
  for (let at = 0; at < bytes.size; at += PIECE_BYTES) {
    const piece = new Uint8Array(await bytes.slice(at, at + PIECE_BYTES).arrayBuffer());
    lines.push(jsonLine({ piece: btoa(Array.from(piece, (byte) => String.fromCharCode(byte)).join("")) }));
  }
  return lines;
}

/** `numbers`: the attachments of the file, by id. What a message says of others counts as missing. */
function messageOf({ info, parts }: Message, sessionId: string, numbers: ReadonlyMap<string, number>): object {
  const { id, role, timestamp, metadata, usage, originSessionId = "" } = info;
  const ids = new Set(parts.flatMap(({ attachment }) => attachment?.attachmentId ?? []));
  const named = [...ids].flatMap((attachmentId) => {
    const number = numbers.get(attachmentId);
    return number === undefined ? [] : [[attachmentId, number]];
  });
  const isElsewhere = originSessionId !== "" && originSessionId !== sessionId;
  return {
    id,
    role,
    timestampMicros: microsOf(timestamp),
    parts: parts.map((part) => markedMissing(part, numbers)),
    metadata,
    ...(usage && { usage: usageOf(usage) }),
    ...(isElsewhere && { originSessionId }),
    ...(named.length > 0 && { attachments: named }),
  };
}

function usageOf(usage: Usage): object {
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens, startTime, firstTokenTime, duration } = usage;
  const numberOf = (text: string | undefined) => (text === undefined ? undefined : Number(text));
  return {
    model: usage.model || undefined,
    provider: usage.provider || undefined,
    inputTokens: numberOf(inputTokens),
    outputTokens: numberOf(outputTokens),
    cachedInputTokens: numberOf(cachedInputTokens),
    reasoningTokens: numberOf(reasoningTokens),
    cost: usage.cost || undefined,
    currency: usage.currency || undefined,
    startTimeMicros: startTime && microsOf(startTime),
    firstTokenTimeMicros: firstTokenTime && microsOf(firstTokenTime),
    durationMicros: duration && durationMicrosOf(duration),
  };
}

/** Microseconds of a duration such as `1.5s`. */
function durationMicrosOf(duration: string): number {
  const [whole = "", fraction = ""] = duration.replace("s", "").split(".");
  return Number(whole) * 1_000_000 + Number(fraction.padEnd(6, "0").slice(0, 6));
}

function markedMissing(part: Part, numbers: ReadonlyMap<string, number>): Part {
  const { attachment } = part;
  if (attachment === undefined || numbers.has(attachment.attachmentId)) return part;
  return { ...part, attachment: { ...attachment, missing: true } };
}

/** Microseconds since 1970 of a time as REST writes it, of which a Date would keep only milliseconds. */
function microsOf(time: string): number {
  const [, whole, fraction = ""] = /^(.*?)(?:\.(\d+))?Z$/.exec(time) ?? [];
  return Date.parse(`${whole}Z`) * 1000 + Number(fraction.padEnd(6, "0").slice(0, 6));
}
