import type { AttachmentContent } from "../../domain/attachment.js";
import type { Part } from "../../domain/chat-message.js";
import { MessageBody } from "../../domain/message-body.js";
import type { BackupAttachment, BackupMessage, NumberRange, SessionImage } from "../../domain/session-image.js";
import type { Todo } from "../../domain/todo.js";
import { isPiece, readPieces } from "./attachment-lines.js";
import type { BackupIndex } from "./backup-index.js";
import { attachmentShape, checkMessage, messageShape } from "./file-shapes.js";
import type { Line, LineSource } from "./lines.js";
import { isObject } from "./shape.js";

/** The sessions of a file that was found to be complete. */
export interface BackupFile {
  readonly index: BackupIndex;
  readonly todos: readonly Todo[];
  /** How many attachments its messages name whose bytes were left out of it; 0 when absent. */
  readonly missingCount?: number | undefined;
  session(index: number): Promise<SessionImage<NumberRange>>;
}

const BATCH_MESSAGES = 500;
const BATCH_BYTES = 1024 * 1024;

/** Reads messages again by their numbers. */
export async function* readNumbers(
  source: LineSource,
  index: BackupIndex,
  { first, last }: NumberRange,
): AsyncGenerator<readonly BackupMessage[]> {
  const { message, ...place } = index.placeBefore(first);
  let number = message;
  let batch: BackupMessage[] = [];
  let bytes = 0;
  let owner = { end: 0, sessionId: "" };
  for await (const line of source.lines(place)) {
    if (isPiece(line.text)) continue;
    const item = itemOf(source, line);
    if (!("message" in item)) continue;
    if (number >= first) {
      if (number > owner.end) owner = await ownerAt(source, index, number);
      const {
        id,
        role,
        timestampMicros,
        originSessionId = owner.sessionId,
        attachments: named,
        metadata,
        usage,
        ...content
      } = messageShape(item.message, "message");
      const whole = named.filter(([, attachment]) => !index.isDamaged(attachment));
      const damaged = new Set(named.filter((one) => !whole.includes(one)).map(([attachmentId]) => attachmentId));
      const body = MessageBody.of({ parts: withoutDamaged(content.parts, damaged), metadata, usage });
      const attachments = whole.map(
        ([attachmentId, attachment]): BackupAttachment => ({
          number: attachment,
          attachmentId,
          open: () => openAttachment(source, index, attachment),
        }),
      );
      batch.push({ id, role, timestampMicros, body, originSessionId, attachments });
      bytes += line.text.length;
    }
    if (number === last) break;
    number += 1;
    if (batch.length < BATCH_MESSAGES && bytes < BATCH_BYTES) continue;
    yield batch;
    [batch, bytes] = [[], 0];
  }
  if (batch.length > 0) yield batch;
}

/** Parts that say of damaged attachments that they are missing. */
function withoutDamaged(parts: readonly Part[], damaged: ReadonlySet<string>): readonly Part[] {
  if (damaged.size === 0) return parts;
  return parts.map((part) =>
    part.attachment !== undefined && damaged.has(part.attachment.attachmentId)
      ? { ...part, attachment: { ...part.attachment, missing: true } }
      : part,
  );
}

async function openAttachment(source: LineSource, index: BackupIndex, number: number): Promise<AttachmentContent> {
  const lines = source.lines(index.attachmentPlace(number))[Symbol.asyncIterator]();
  const { value: line, done } = await lines.next();
  if (done) throw new Error("The file became shorter while it was being read");
  const attachment = attachmentShape(itemOf(source, line).attachment, "attachment");
  return { attachment, pieces: readPieces({ [Symbol.asyncIterator]: () => lines }) };
}

async function ownerAt(source: LineSource, index: BackupIndex, number: number) {
  const owner = index.ownerOf(number);
  const line = await lineAt(source, index, owner);
  const { session } = itemOf(source, line) as { session: { sessionId: string } };
  return { end: index.numbersOf(owner).last, sessionId: session.sessionId };
}

/** The line of a session. */
export async function lineAt(source: LineSource, index: BackupIndex, session: number): Promise<Line> {
  for await (const line of source.lines(index.sessionPlace(session))) return line;
  throw new Error("The file became shorter while it was being read");
}

const KINDS = ["session", "message", "attachment", "todos"] as const;

/** The content of a line: a session, a message, an attachment or todos, whose shape has not been checked yet. */
export function itemOf(source: LineSource, line: Line): Record<string, unknown> {
  return naming(source, line, () => {
    let value: unknown;
    try {
      value = JSON.parse(line.text);
    } catch (cause) {
      throw new Error("it is not valid JSON", { cause });
    }
    const kinds = isObject(value) ? KINDS.filter((kind) => Object.hasOwn(value, kind)) : [];
    if (kinds.length !== 1) throw new Error("it is neither a session, a message, an attachment nor todos");
    return value as Record<string, unknown>;
  });
}

/** Runs a check of a line and adds the name of the line to its error. */
export function naming<T>(source: LineSource, { number }: { readonly number: number }, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw new Error(`${source.nameOf(number)}: ${(error as Error).message}`, { cause: error });
  }
}

/** The message of a line, after its shape was checked. */
export function messageOf(value: unknown, limits: Parameters<typeof checkMessage>[1]) {
  const message = messageShape(value, "message");
  checkMessage(message, limits);
  return message;
}
