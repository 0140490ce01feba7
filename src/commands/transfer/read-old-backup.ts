import { createHash } from "node:crypto";
import type { NumberRange, SessionImage } from "../../domain/session-image.js";
import type { Todo } from "../../domain/todo.js";
import { type BackupFile, itemOf, lineAt, messageOf, naming } from "./backup-file.js";
import { BackupIndex } from "./backup-index.js";
import { checkAncestry } from "./check-ancestry.js";
import { checkLineage, shownCount } from "./check-lineage.js";
import { BACKUP_LIMITS, checkSession, oldSessionShape, todosOf } from "./file-shapes.js";
import { firstOf } from "./foreign/ranges.js";
import type { Line, LineSource } from "./lines.js";
import { NumberColumn } from "./number-column.js";

type Image = SessionImage<NumberRange>;
/** What is known about a session beyond its own line. */
type History = Pick<Image, "ancestry" | "messages" | "origin">;

/**
 * Reads a file of version 1, in which every session is followed by all its messages. A fork becomes a fork again when
 * its parent comes before it and begins with the same messages. Throws an Error that names the first invalid line.
 */
export async function readOldBackup(source: LineSource): Promise<BackupFile> {
  const scan = new OldScan(source);
  let isHeader = true;
  for await (const line of source.lines()) {
    if (!isHeader) scan.add(line);
    isHeader = false;
  }
  scan.endSession();
  scan.index.fixOrder();
  const { index, histories, todos } = scan;
  const nowMicros = Date.now() * 1000;
  return {
    index,
    todos,
    session: async (i) => {
      const { title, metadata, ...shown } = oldSessionShape(itemOf(source, await lineAt(source, index, i)).session, "");
      // The sessions of such a file have no times of their own. These times keep their order.
      const times = { createTimeMicros: nowMicros + i, updateTimeMicros: nowMicros + i };
      const history = histories[i] as History;
      // What was inherited and is not there was removed by an edit.
      const revision = shownCount(history) < shown.inheritedCount ? 2 : 1;
      return { ...shown, title, metadata, ...times, revision, undo: null, ...history };
    },
  };
}

class OldScan {
  readonly index = new BackupIndex();
  readonly histories: History[] = [];
  todos: readonly Todo[] = [];
  readonly #source: LineSource;
  readonly #places = new Map<string, number>();
  readonly #messageIds = new Set<string>();
  /** For each message, a digest of it and of all messages before it in its session. */
  readonly #digests = new NumberColumn();
  #digest = 0;
  #current: { readonly line: Line; readonly session: ReturnType<typeof oldSessionShape> } | undefined;

  constructor(source: LineSource) {
    this.#source = source;
  }

  add(line: Line): void {
    const item = itemOf(this.#source, line);
    if (!("message" in item)) this.endSession();
    naming(this.#source, line, () => {
      if ("message" in item) this.#addMessage(line, item.message);
      else if ("session" in item) this.#addSession(line, item.session);
      else this.todos = todosOf(item.todos);
    });
  }

  endSession(): void {
    if (this.#current === undefined) return;
    const { line, session } = this.#current;
    naming(this.#source, line, () => {
      const own = this.index.numbersOf(this.index.sessionCount - 1);
      const number = own.first <= own.last ? this.index.firstDescent([own]) : undefined;
      if (number !== undefined) throw new Error(`message ${number} has an earlier timestamp than the one before it`);
      const history = this.#historyOf(session, own);
      checkAncestry({ ...session, ...history });
      this.histories.push(history);
      this.#places.set(session.sessionId, this.index.sessionCount - 1);
    });
    this.#current = undefined;
  }

  #addSession(line: Line, value: unknown): void {
    const session = oldSessionShape(value, "session");
    checkSession(session, BACKUP_LIMITS);
    checkLineage(session);
    if (this.#places.has(session.sessionId)) {
      throw new Error(`session ${JSON.stringify(session.sessionId)} is in the file twice`);
    }
    this.#current = { line, session };
    this.#digest = 0;
    this.#messageIds.clear();
    this.index.addSession(line);
  }

  #addMessage(line: Line, value: unknown): void {
    if (this.#current === undefined) throw new Error("a message comes before any session");
    const { id, role, timestampMicros, parts, metadata } = messageOf(value, BACKUP_LIMITS);
    if (this.#messageIds.has(id)) throw new Error(`message ${JSON.stringify(id)} is in the session twice`);
    this.#messageIds.add(id);
    const text = JSON.stringify([this.#digest, id, role, timestampMicros, parts, metadata]);
    this.#digest = createHash("sha256").update(text).digest().readUIntBE(0, 6);
    this.#digests.push(this.#digest);
    this.index.addMessage(line, timestampMicros);
  }

  #historyOf(session: ReturnType<typeof oldSessionShape>, own: NumberRange): History {
    const { parentId, forkPointId, inheritedCount } = session;
    const messages = own.first <= own.last ? [own] : [];
    const place = this.#places.get(parentId);
    const parent = place === undefined ? undefined : this.histories[place];
    if (place === undefined || parent === undefined) return { ancestry: [], messages, origin: null };
    if (inheritedCount === 0) {
      const shown = parent.messages.length > 0 ? [{ sessionId: parentId, ranges: parent.messages }] : [];
      this.#noteNamed([...parent.ancestry, ...shown].flatMap(({ ranges }) => ranges));
      return { ancestry: [...parent.ancestry, ...shown], messages, origin: null };
    }
    const { ancestry } = parent;
    this.#noteNamed(ancestry.flatMap(({ ranges }) => ranges));
    if (!this.#isFork(own, this.index.numbersOf(place), inheritedCount)) return { ancestry, messages, origin: null };
    const inherited = firstOf(parent.messages, inheritedCount);
    this.#noteNamed(inherited);
    this.index.noteSource(this.index.sessionCount - 1, place);
    const rest = { first: own.first + inheritedCount, last: own.last };
    const origin = { kind: "fork", sourceSessionId: parentId, upToMessageId: forkPointId, sourceLives: true } as const;
    return { ancestry, messages: rest.first <= rest.last ? [...inherited, rest] : inherited, origin };
  }

  #isFork(own: NumberRange, parent: NumberRange, inheritedCount: number): boolean {
    const [mine, theirs] = [own.first + inheritedCount - 1, parent.first + inheritedCount - 1];
    return mine <= own.last && theirs <= parent.last && this.#digests.at(mine - 1) === this.#digests.at(theirs - 1);
  }

  #noteNamed(ranges: readonly NumberRange[]): void {
    for (const range of ranges) this.index.noteNamed(range);
  }
}
