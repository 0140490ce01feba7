import { checkIntegers, checkJsonText } from "../../codec/json-text.js";
import type { NumberRange, SessionImage } from "../../domain/session-image.js";
import type { Todo } from "../../domain/todo.js";
import { checkText } from "../../domain/validate.js";
import { isPiece, PieceCheck } from "./attachment-lines.js";
import { itemOf, messageOf, naming } from "./backup-file.js";
import { BackupIndex } from "./backup-index.js";
import { checkAncestry } from "./check-ancestry.js";
import { checkInherited } from "./check-lineage.js";
import {
  asPlainErrors,
  attachmentShape,
  BACKUP_LIMITS,
  checkAnnotations,
  checkAttachment,
  checkSession,
  sessionShape,
  todosOf,
} from "./file-shapes.js";
import type { ImportNotes } from "./foreign/import-notes.js";
import type { Line, LineSource } from "./lines.js";
import type { Numbers } from "./session-file.js";
import { checkKnown } from "./shape.js";

type Image = SessionImage<NumberRange>;

/** Checks the lines of one section of a file, one after another. */
export class BackupScan {
  readonly index = new BackupIndex();
  readonly #source: LineSource;
  readonly #notes: ImportNotes;
  readonly #sessions = new Map<string, number>();
  /** The attachment whose bytes are being read. */
  #pieces: PieceCheck | undefined;
  /** The highest number of an attachment that messages name, and the last line of them. */
  #lastNamed = 0;
  /** Which attachments parts say are missing, by id and SHA-256. */
  readonly #missing = new Set<string>();
  /** Forks that come before their sources, and the ids of these. */
  readonly #early: { readonly session: number; readonly sourceId: string }[] = [];
  /** How many attachments follow the messages of the session. */
  #attachments = 0;
  #lists: readonly (readonly NumberRange[])[] = [];
  readonly #messageIds = new Set<string>();
  #todos: readonly Todo[] | undefined;
  /** The session whose messages are being read, and the last number that it names. */
  #current: { readonly line: Line; readonly image: Image; readonly last: number } | undefined;

  constructor(source: LineSource, notes: ImportNotes) {
    this.#source = source;
    this.#notes = notes;
  }

  /** How many attachments parts name whose bytes were left out of the file. */
  get missingCount(): number {
    return this.#missing.size;
  }

  add(line: Line): void {
    if (isPiece(line.text)) {
      if (this.#pieces === undefined) naming(this.#source, line, () => refusePiece());
      this.#pieces?.add(line.text, line.number);
      return;
    }
    this.#endPieces();
    const item = itemOf(this.#source, line);
    naming(this.#source, line, () => {
      // JSON.parse has rounded what a double cannot hold.
      checkIntegers(line.text);
      if (this.#todos) throw new Error("it follows the todos, which are the end of the file");
    });
    if (!("message" in item || "attachment" in item)) this.#endSession();
    naming(this.#source, line, () => {
      // What no shape knows would be lost, and of a key that is there twice JSON.parse has kept the last.
      checkKnown(item, this.#addItem(line, item), "");
      checkJsonText(line.text, "it");
    });
  }

  end(): readonly Todo[] {
    this.#endPieces();
    if (this.#todos === undefined) {
      this.#endSession();
      throw new Error("The file is not whole: its last line, with the todos, is missing");
    }
    this.#fixOrder();
    return this.#todos;
  }

  #fixOrder(): void {
    for (const { session, sourceId } of this.#early) this.#noteSource(session, sourceId);
    const circle = this.index.fixOrder();
    if (circle === undefined) return;
    const text = "it was made from a session that was, directly or through others, made from it";
    throw new Error(`${this.#source.nameOf(this.index.sessionPlace(circle).number)}: ${text}`);
  }

  /** Returns whether the source is known by now. */
  #noteSource(session: number, sourceId: string): boolean {
    const source = this.#sessions.get(sourceId);
    if (source !== undefined) this.index.noteSource(session, source);
    return source !== undefined;
  }

  /** Adds the content of a line. Returns it in its shape. */
  #addItem(line: Line, item: Record<string, unknown>): object {
    if ("message" in item) return { message: this.#addMessage(line, item.message) };
    if ("attachment" in item) return { attachment: this.#addAttachment(line, item.attachment) };
    if ("session" in item) return { session: this.#addSession(line, item.session) };
    this.#todos = todosOf(item.todos);
    return { todos: this.#todos };
  }

  #addMessage(line: Line, value: unknown): object {
    const message = messageOf(value, BACKUP_LIMITS);
    if (message.originSessionId !== undefined) {
      const { originSessionId } = message;
      asPlainErrors(() => checkText("message.originSessionId", originSessionId));
    }
    if (this.#current === undefined) throw new Error("a message comes before any session");
    if (this.index.messageCount >= this.#current.last) throw new Error("no session names this message");
    this.#checkId(message.id);
    if (this.#attachments > 0) throw new Error("it follows attachments, which come after the messages of a session");
    this.index.addMessage(line, message.timestampMicros);
    for (const [attachmentId, number] of message.attachments) {
      if (!message.parts.some(({ attachment }) => attachment?.attachmentId === attachmentId)) {
        throw new Error(`message.attachments names ${JSON.stringify(attachmentId)}, which no part does`);
      }
      this.index.noteAttachment(number);
      this.#lastNamed = Math.max(this.#lastNamed, number);
    }
    for (const { attachment } of message.parts) {
      if (attachment?.missing) this.#missing.add(JSON.stringify([attachment.attachmentId, attachment.sha256]));
    }
    return message;
  }

  #addAttachment(line: Line, value: unknown): object {
    const attachment = attachmentShape(value, "attachment");
    checkAttachment(attachment, BACKUP_LIMITS);
    if (this.index.attachmentCount >= this.#lastNamed) throw new Error("no message names this attachment");
    this.index.addAttachment(line);
    this.#attachments += 1;
    this.#pieces = new PieceCheck(attachment, line.number);
    return attachment;
  }

  /** Once all bytes of an attachment were read. */
  #endPieces(): void {
    const damaged = this.#pieces?.end();
    this.#pieces = undefined;
    if (damaged === undefined) return;
    const { first, last, damage } = damaged;
    this.index.noteDamaged(this.index.attachmentCount);
    const lines = first === last ? this.#source.nameOf(first) : `Lines ${first} to ${last}`;
    this.#notes.leftOut("attachments whose bytes are damaged", `${lines}: ${damage}`);
  }

  /** An id may occur in several lists of a session, but not twice in one. */
  #checkId(id: string): void {
    const number = this.index.messageCount + 1;
    const list = this.#lists.findIndex((ranges) => ranges.some(({ first, last }) => first <= number && number <= last));
    const key = `${list} ${id}`;
    if (this.#messageIds.has(key)) throw new Error(`message ${JSON.stringify(id)} is in the session twice`);
    this.#messageIds.add(key);
  }

  #addSession(line: Line, value: unknown): object {
    const session = sessionShape(value, "session");
    const image = imageOf(session);
    checkImage(image);
    if (this.#sessions.has(image.sessionId)) {
      throw new Error(`session ${JSON.stringify(image.sessionId)} is in the file twice`);
    }
    const number = this.index.sessionCount;
    this.#sessions.set(image.sessionId, number);
    const sourceId = image.origin?.sourceLives ? image.origin.sourceSessionId : undefined;
    if (sourceId !== undefined && !this.#noteSource(number, sourceId)) this.#early.push({ session: number, sourceId });
    const { messageCount } = this.index;
    const all = listsOf(image).flat();
    const last = all.reduce((most, range) => Math.max(most, range.last), messageCount);
    checkCovers(all, messageCount + 1, last);
    for (const { first, last: end } of all) {
      if (first <= messageCount) this.index.noteNamed({ first, last: Math.min(end, messageCount) });
    }
    this.#current = { line, image, last };
    this.#lists = listsOf(image);
    this.#messageIds.clear();
    this.#attachments = 0;
    this.index.addSession(line);
    return session;
  }

  /** The lists of a session can be checked once its messages are known. */
  #endSession(): void {
    if (this.#current === undefined) return;
    const { line, image, last } = this.#current;
    naming(this.#source, line, () => {
      const id = JSON.stringify(image.sessionId);
      const { messageCount } = this.index;
      if (messageCount < last)
        throw new Error(`session ${id} names messages up to ${last}, but the last one is ${messageCount}`);
      if (this.index.attachmentCount < this.#lastNamed) {
        const { attachmentCount } = this.index;
        throw new Error(
          `messages of session ${id} name attachments up to ${this.#lastNamed}, but the last one is ${attachmentCount}`,
        );
      }
      for (const ranges of listsOf(image)) {
        const number = this.index.firstDescent(ranges);
        if (number !== undefined)
          throw new Error(`session ${id} shows message ${number} after one with a later timestamp`);
      }
    });
    this.#current = undefined;
  }
}

/** A session as a file has it, as stores take it. */
export function imageOf({ ancestry, messages, undo, ...rest }: ReturnType<typeof sessionShape>): Image {
  return {
    ...rest,
    ancestry: ancestry.map((one) => ({ sessionId: one.sessionId, ranges: one.messages.map(rangeOf) })),
    messages: messages.map(rangeOf),
    undo: undo?.map(rangeOf) ?? null,
  };
}

function checkImage(image: Image): void {
  checkSession(image, BACKUP_LIMITS);
  checkAnnotations(image.annotations ?? []);
  asPlainErrors(() => {
    checkText("session.forkPointId", image.forkPointId);
    checkText("session.origin.sourceSessionId", image.origin?.sourceSessionId ?? "");
    checkText("session.origin.upToMessageId", image.origin?.upToMessageId ?? "");
    for (const { sessionId } of image.ancestry) checkText("session.ancestry.sessionId", sessionId);
  });
  for (const ranges of listsOf(image)) checkApart(ranges);
  checkInherited(image);
  checkAncestry(image);
}

function listsOf({ ancestry, messages, undo }: Image): (readonly NumberRange[])[] {
  return [...ancestry.map(({ ranges }) => ranges), messages, undo ?? []];
}

/** No list may show a message twice. */
function checkApart(ranges: readonly NumberRange[]): void {
  const sorted = ranges.toSorted((a, b) => a.first - b.first);
  const twice = sorted.find(({ first }, i) => i > 0 && first <= (sorted[i - 1] as NumberRange).last);
  if (twice) throw new Error(`message ${twice.first} is in one list twice`);
}

/** The messages that a session is the first to name follow it, so none of them may be missing. */
function checkCovers(ranges: readonly NumberRange[], from: number, to: number): void {
  let next = from;
  for (const { first, last } of ranges.toSorted((a, b) => a.first - b.first)) {
    if (first > next) break;
    next = Math.max(next, last + 1);
  }
  if (next <= to) throw new Error(`it names message ${to}, but no session names message ${next}`);
}

function rangeOf([first, last]: Numbers): NumberRange {
  return { first, last };
}

function refusePiece(): never {
  throw new Error("a piece comes before any attachment");
}
