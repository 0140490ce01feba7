import type { PartAttachment } from "../../../domain/chat-message.js";
import type { Limits } from "../../../domain/limits.js";
import type { NumberRange } from "../../../domain/session-image.js";
import { itemOf, lineAt } from "../backup-file.js";
import { BackupIndex } from "../backup-index.js";
import { FileLines, type LineSource } from "../lines.js";
import type { ForeignFork, ForeignMessage, ForeignSession } from "../readers/reader.js";
import type { FileMessage, NamedNumber } from "../session-file.js";
import { attachmentOf } from "./attach-values.js";
import { type Family, linkFamilies } from "./families.js";
import { factsOf, piecesOf } from "./file-bytes.js";
import type { ForeignBackup } from "./growth.js";
import type { ImportNotes } from "./import-notes.js";
import { LineWriter } from "./line-writer.js";
import { digestOf, mendId, TakenIds, withSuffix } from "./mend-id.js";
import { mendMessage } from "./mend-message.js";
import { type MendedFields, mendFields } from "./mend-session.js";
import { MessageTimes } from "./message-times.js";
import { firstOf, joined } from "./ranges.js";
import type { OnMend } from "./storable.js";

/** A session of the file, as the line of it says what is not kept in memory. */
interface SessionLine extends Omit<MendedFields, "moved"> {
  readonly createTimeMicros: number;
  readonly updateTimeMicros: number;
}

/** Where a message stands: in which session, how many messages end with it there, and its time. */
interface Spot {
  readonly session: number;
  readonly count: number;
  readonly last: FileMessage;
  readonly numbers: NumberRange;
}

/** What the sessions of one conversation share while it is being written. */
interface Conversation {
  readonly fields: MendedFields;
  readonly name: string;
  readonly ids: TakenIds;
  readonly spots: Map<ForeignMessage, Spot>;
  readonly times: MessageTimes;
  readonly onMend: OnMend;
  /** The numbers of attachments that are in the file for its sessions, by their ids. */
  readonly attachments: Map<string, number>;
}

/**
 * Sessions of another program in the form of a backup: mended, and written to a temporary file, so that memory holds
 * one conversation at a time and the import can read messages again in any order. Its size on disk is about that of the
 * file. The file is long because all kinds of lines are numbered by one count, in the order in which they are written.
 */
export class ForeignFile {
  readonly #index = new BackupIndex();
  readonly #families: Family[] = [];
  readonly #ids = new TakenIds();
  /** The first session with each id, as the file has it. */
  readonly #originals = new Map<string, number>();
  /** The sessions of each conversation, the one with its id first. */
  readonly #conversations: number[][] = [];
  readonly #writer: LineWriter;
  readonly #limits: Limits;
  readonly #notes: ImportNotes;
  readonly #nowMicros: number;

  private constructor(writer: LineWriter, limits: Limits, notes: ImportNotes, nowMicros: number) {
    this.#writer = writer;
    this.#limits = limits;
    this.#notes = notes;
    this.#nowMicros = nowMicros;
  }

  static async create(limits: Limits, notes: ImportNotes, nowMicros: number): Promise<ForeignFile> {
    return new ForeignFile(await LineWriter.create(), limits, notes, nowMicros);
  }

  /** Adds a session and its forks. */
  async add(session: ForeignSession): Promise<void> {
    const given = session.sessionId || `import-${digestOf(JSON.stringify([session.title, session.messages[0]]))}`;
    const sessionId = this.#newId(given, `session ${JSON.stringify(given)}`);
    const name = `session ${JSON.stringify(sessionId)}`;
    const onMend = (kind: string) => this.#notes.mended(kind, name);
    const times = new MessageTimes(this.#nowMicros, onMend);
    const fields = mendFields(session, this.#limits, onMend);
    const conversation = { fields, name, ids: new TakenIds(), spots: new Map(), times, onMend, attachments: new Map() };
    const main = await this.#addMain(session, sessionId, conversation);
    if (!this.#originals.has(given)) this.#originals.set(given, main);
    const sessions = [main];
    for (const fork of session.forks ?? []) sessions.push(await this.#addFork(fork, main, conversation));
    this.#conversations.push(sessions);
  }

  /** All sessions, once the last one was added. */
  async finish(): Promise<{ readonly source: LineSource; readonly file: ForeignBackup }> {
    await this.#writer.flush();
    const source = new FileLines(this.#writer.file, () => {});
    const index = this.#index;
    const families = linkFamilies(this.#families, this.#originals, index, this.#notes);
    const sourceOf = (i: number) => this.#families[i]?.source;
    const session = async (i: number) => {
      const { fields } = itemOf(source, await lineAt(source, index, i)) as unknown as { fields: SessionLine };
      return { ...(families[i] as (typeof families)[number]), ...fields };
    };
    const { idBytes } = this.#limits;
    return { source, file: { index, todos: [], session, sourceOf, conversations: this.#conversations, idBytes } };
  }

  close(): Promise<void> {
    return this.#writer.close();
  }

  async #addMain(session: ForeignSession, sessionId: string, conversation: Conversation): Promise<number> {
    const { times, fields } = conversation;
    const { messages, undo } = session;
    const created = times.known(session.createTimeMicros);
    const start = times.first(messages) ?? created ?? this.#nowMicros;
    const [given, stamps] = [times.known(session.updateTimeMicros), times.of(messages, start)];
    const createTimeMicros = created ?? start;
    const updateTimeMicros = Math.max(given ?? stamps.at(-1) ?? createTimeMicros, createTimeMicros);
    const main = await this.#begin(sessionId, conversation, { createTimeMicros, updateTimeMicros });
    const [first, ...others] = messages;
    const withMoved = fields.moved && first ? [withPart(first, fields.moved), ...others] : messages;
    if (fields.moved && !first)
      this.#notes.leftOut("fields of sessions without messages, too large", conversation.name);
    else if (fields.moved)
      conversation.onMend("fields of sessions too large, which are a part of the first message now");
    const numbers = await this.#write(main, messages, withMoved, stamps, conversation, 0);
    const undone = undo && (await this.#addUndone(main, undo, conversation, start));
    this.#families.push({
      sessionId,
      parentId: session.parentId ? mendId(session.parentId, this.#limits.idBytes, () => {}) : "",
      givenParentId: session.parentId ?? "",
      forkPointId: "",
      inheritedCount: 0,
      origin: null,
      source: undefined,
      messages: numbers,
      undo: undone ?? null,
      revision: undone ? 2 : 1,
    });
    return main;
  }

  async #addFork({ after, messages }: ForeignFork, main: number, conversation: Conversation): Promise<number> {
    const spot = after === null ? undefined : conversation.spots.get(after);
    const start = spot?.last.timestampMicros ?? conversation.times.first(messages) ?? this.#nowMicros;
    const stamps = conversation.times.of(messages, start);
    const source = spot?.session ?? main;
    const { sessionId: mainId } = this.#families[main] as Family;
    const { sessionId: sourceId, messages: sourceMessages } = this.#families[source] as Family;
    const own = withSuffix(mainId, `~${messages[0]?.id ?? ""}`, this.#limits.idBytes);
    const sessionId = this.#newId(own, conversation.name);
    const range = { createTimeMicros: stamps[0] ?? start, updateTimeMicros: stamps.at(-1) ?? start };
    const session = await this.#begin(sessionId, conversation, range);
    const count = spot?.count ?? 0;
    const numbers = await this.#write(session, messages, messages, stamps, conversation, count);
    const upToMessageId = spot?.last.id ?? "";
    this.#families.push({
      sessionId,
      parentId: sourceId,
      givenParentId: "",
      forkPointId: upToMessageId,
      inheritedCount: count,
      origin: spot ? { kind: "fork", sourceSessionId: sourceId, upToMessageId, sourceLives: true } : null,
      source,
      messages: [...firstOf(sourceMessages, count), ...numbers],
      undo: null,
      revision: 1,
    });
    return session;
  }

  /** Writes a session's own line. Returns its number. */
  async #begin(
    sessionId: string,
    { fields }: Conversation,
    times: Pick<SessionLine, "createTimeMicros" | "updateTimeMicros">,
  ) {
    const { moved: _moved, ...kept } = fields;
    const session = this.#ids.size;
    this.#ids.add(sessionId);
    this.#index.addSession(await this.#writer.add({ session: { sessionId }, fields: { ...kept, ...times } }));
    return session;
  }

  /** Writes the messages of a list; notes where each of the given objects stands. */
  async #write(
    session: number,
    given: readonly ForeignMessage[],
    messages: readonly ForeignMessage[],
    stamps: readonly number[],
    conversation: Conversation,
    before: number,
  ): Promise<NumberRange[]> {
    const first = this.#index.messageCount + 1;
    for (const [i, message] of messages.entries()) {
      const written = await this.#writeMessage(message, stamps[i] as number, conversation, conversation.ids);
      const count = before + this.#index.messageCount - first + 1;
      conversation.spots.set(given[i] as ForeignMessage, { session, count, ...written });
    }
    return first <= this.#index.messageCount ? [{ first, last: this.#index.messageCount }] : [];
  }

  /** The ranges of a history before messages were undone, of which the shared ones are written already. */
  async #addUndone(
    main: number,
    undo: readonly ForeignMessage[],
    conversation: Conversation,
    start: number,
  ): Promise<NumberRange[]> {
    const ranges: NumberRange[] = [];
    const ids = new TakenIds();
    let latest = start;
    for (const message of undo) {
      const spot = conversation.spots.get(message);
      const isShared = spot?.session === main && spot.last.timestampMicros >= latest && !ids.has(spot.last.id);
      const [stamp = latest] = conversation.times.of([message], latest);
      const { last, numbers } = isShared ? spot : await this.#writeMessage(message, stamp, conversation, ids);
      ids.add(last.id);
      latest = last.timestampMicros;
      ranges.push(numbers);
    }
    return joined(ranges);
  }

  async #writeMessage(
    message: ForeignMessage,
    timestampMicros: number,
    conversation: Conversation,
    ids: TakenIds,
  ): Promise<{ readonly last: FileMessage; readonly numbers: NumberRange }> {
    const { name, onMend } = conversation;
    const { idBytes } = this.#limits;
    const wanted = mendId(message.id || `message-${ids.size + 1}`, idBytes, onMend);
    const id = ids.free(wanted, idBytes);
    const place = `${name}, message ${JSON.stringify(id)}`;
    if (id !== wanted) this.#notes.mended("ids that occur twice, which were renamed", place);
    const kinds = new Set<string>();
    const files = await this.#attachFiles(message, conversation, place);
    const { messages: mended, attached } = mendMessage(message, { id, timestampMicros, files }, this.#limits, (kind) =>
      kinds.add(kind),
    );
    for (const value of attached) await this.#attach(attachmentOf(value), () => piecesOf([value.bytes]), conversation);
    for (const kind of kinds) this.#notes.mended(kind, place);
    const first = this.#index.messageCount + 1;
    for (const one of mended) {
      ids.add(one.id);
      const named = namedBy(one, conversation.attachments);
      const line = { message: { ...one, ...(named.length > 0 && { attachments: named }) } };
      this.#index.addMessage(await this.#writer.add(line), one.timestampMicros);
      for (const [, number] of named) this.#index.noteAttachment(number);
    }
    return { last: mended.at(-1) as FileMessage, numbers: { first, last: this.#index.messageCount } };
  }

  /** Adds the files that parts of a message are. Resolves to what is known of them, by the numbers of the parts. */
  async #attachFiles(
    { parts }: ForeignMessage,
    conversation: Conversation,
    place: string,
  ): Promise<ReadonlyMap<number, PartAttachment>> {
    const found = new Map<number, PartAttachment>();
    for (const [i, { file }] of parts.entries()) {
      if (file === undefined) continue;
      if (found.size === this.#limits.messageAttachments) {
        this.#notes.leftOut("files of messages that name too many", place);
        continue;
      }
      try {
        const attachment = await factsOf(file, this.#limits);
        await this.#attach(attachment, () => piecesOf(file.source.open()), conversation);
        found.set(i, attachment);
      } catch (error) {
        const text = `${place}, ${JSON.stringify(file.name)}: ${(error as Error).message}`;
        this.#notes.leftOut("files that cannot be read or are too large", text);
      }
    }
    return found;
  }

  /** Writes an attachment and its bytes, unless the conversation has it. */
  async #attach(
    attachment: PartAttachment,
    pieces: () => AsyncIterable<Uint8Array>,
    { attachments }: Conversation,
  ): Promise<void> {
    const { attachmentId } = attachment;
    if (attachments.has(attachmentId)) return;
    const line = { attachment: { ...attachment, createTimeMicros: this.#nowMicros } };
    this.#index.addAttachment(await this.#writer.add(line));
    attachments.set(attachmentId, this.#index.attachmentCount);
    for await (const piece of pieces()) await this.#writer.add({ piece: Buffer.from(piece).toString("base64") });
  }

  #newId(given: string, place: string): string {
    const { idBytes } = this.#limits;
    const wanted = mendId(given, idBytes, (kind) => this.#notes.mended(kind, place));
    const id = this.#ids.free(wanted, idBytes);
    if (id !== wanted)
      this.#notes.mended("ids that occur twice, which were renamed", `${place}, now ${JSON.stringify(id)}`);
    return id;
  }
}

/** The attachments that a message names, each once. */
function namedBy({ parts }: FileMessage, attachments: ReadonlyMap<string, number>): NamedNumber[] {
  const ids = new Set(parts.flatMap(({ attachment }) => attachment?.attachmentId ?? []));
  return [...ids].flatMap((id): NamedNumber[] => {
    const number = attachments.get(id);
    return number === undefined ? [] : [[id, number]];
  });
}

function withPart(message: ForeignMessage, data: MendedFields["moved"]): ForeignMessage {
  return { ...message, parts: [...message.parts, { type: "session-metadata", data }] };
}
