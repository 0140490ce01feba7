import type { NewChatMessage } from "../../domain/chat-message.js";
import { DomainError } from "../../domain/errors.js";
import { sameStruct } from "../../domain/json.js";
import type { Todo } from "../../domain/todo.js";
import type { RootPool } from "../../pool/root-pool.js";
import type { FileSession } from "./session-file.js";

const BATCH_MESSAGES = 500;
/** As JSON; as protobuf a message may be several times as large. */
const BATCH_BYTES = 1024 * 1024;
const PAGE = 1000;

/**
 * Puts one session of a file into a store. What is there already is left as it is, so that an import can be repeated. A fork becomes a
 * fork again, when its parent has the messages that it began with.
 */
export class SessionWriter {
  readonly #pool: RootPool;
  readonly #session: FileSession;
  /** Messages that it inherited, kept until they can be compared with its parent's. */
  #inherited: NewChatMessage[] = [];
  #batch: NewChatMessage[] = [];
  #batchBytes = 0;
  #isMade = false;

  constructor(pool: RootPool, session: FileSession) {
    this.#pool = pool;
    this.#session = session;
  }

  async add(message: NewChatMessage): Promise<void> {
    if (!this.#isMade && this.#inherited.length < this.#session.inheritedCount) {
      this.#inherited.push(message);
      return;
    }
    await this.#make();
    await this.#append(message);
  }

  async finish(): Promise<void> {
    await this.#make();
    await this.#flush();
  }

  async #make(): Promise<void> {
    if (this.#isMade) return;
    this.#isMade = true;
    const inherited = this.#inherited;
    this.#inherited = [];
    if (await this.#isForkOfParent(inherited)) return this.#fork();
    await this.#create();
    for (const message of inherited) await this.#append(message);
  }

  async #isForkOfParent(inherited: readonly NewChatMessage[]): Promise<boolean> {
    const { parentId, forkPointId, inheritedCount } = this.#session;
    if (parentId === "" || inheritedCount === 0 || inherited.length < inheritedCount) return false;
    if (inherited.at(-1)?.id !== forkPointId || !(await this.#exists(parentId))) return false;
    for (let offset = 0; offset < inheritedCount; offset += PAGE) {
      const limit = Math.min(PAGE, inheritedCount - offset);
      const theirs = await this.#pool.sessions.getMessages(parentId, { offset, limit });
      const ours = inherited.slice(offset, offset + limit);
      const same = ours.every(
        (our, i) => our.id === theirs[i]?.id && our.timestampMicros === theirs[i]?.timestampMicros,
      );
      if (!same) return false;
    }
    return true;
  }

  async #fork(): Promise<void> {
    const { sessionId, parentId, forkPointId, title, metadata } = this.#session;
    const options = { newSessionId: sessionId, upToMessageId: forkPointId, title };
    const { session } = await this.#pool.sessions.forkSession(parentId, options);
    if (session.title === title && sameStruct(session.metadata, metadata)) return;
    await this.#pool.sessions.updateSession(sessionId, { title, metadata: metadata ?? {} });
  }

  async #create(): Promise<void> {
    const { sessionId, parentId, title, metadata } = this.#session;
    const known = parentId !== "" && (await this.#exists(parentId));
    await this.#pool.sessions.createSession({ sessionId, title, metadata, ...(known && { parentId }) });
  }

  async #exists(sessionId: string): Promise<boolean> {
    try {
      await this.#pool.sessions.getSession(sessionId);
      return true;
    } catch (error) {
      if (error instanceof DomainError && error.code === "not_found") return false;
      throw error;
    }
  }

  async #append(message: NewChatMessage): Promise<void> {
    const bytes = JSON.stringify(message).length;
    if (this.#batch.length >= BATCH_MESSAGES || this.#batchBytes + bytes > BATCH_BYTES) await this.#flush();
    this.#batch.push(message);
    this.#batchBytes += bytes;
  }

  async #flush(): Promise<void> {
    if (this.#batch.length > 0) await this.#pool.sessions.appendMessages(this.#session.sessionId, this.#batch);
    this.#batch = [];
    this.#batchBytes = 0;
  }
}

/** Adds the todos whose ids the list does not have. */
export async function addTodos(pool: RootPool, todos: readonly Todo[]): Promise<void> {
  const known = new Set((await pool.todos.list()).map(({ id }) => id));
  for (const todo of todos) {
    if (!known.has(todo.id)) await pool.todos.add(todo);
  }
}
