import { DomainError, notFound } from "../../../src/domain/errors.js";
import { sameStruct } from "../../../src/domain/json.js";
import type { DeletedSessionPage } from "../../../src/domain/page.js";
import type { NewSession, Session, SessionChange } from "../../../src/domain/session.js";
import type { Todo } from "../../../src/domain/todo.js";
import { compareValues, type UsagePage } from "../../../src/domain/usage-groups.js";
import type { StorageProvider, SumOptions } from "../../../src/storage/storage-provider.js";
import { discardDraft, openDrafts } from "./naive-drafts.js";
import { NaiveDraftsProvider } from "./naive-drafts-provider.js";
import { ancestryOfChild, type NaiveSession, type NaiveUpload, toSession, withUsage } from "./naive-session.js";
import { sumRows } from "./naive-sums.js";

/** A session that can be brought back until this time. */
interface Binned {
  readonly session: NaiveSession;
  readonly purgeMs: number;
}

/** The state that providers of one naive store share. */
export interface NaiveState {
  readonly sessions: Map<string, NaiveSession>;
  /** In the order in which they were deleted. */
  bin: readonly Binned[];
  readonly uploads: NaiveUpload[];
  todos: { readonly todos: readonly Todo[]; readonly revision: number };
  made: number;
}

export function naiveState(): NaiveState {
  return { sessions: new Map(), bin: [], uploads: [], todos: { todos: [], revision: 0 }, made: 0 };
}

/** How long deleted sessions can be brought back, and the clock by which they are kept. */
export interface NaiveBin {
  readonly undeleteMs: number;
  readonly nowMs: () => number;
}

const NO_BIN: NaiveBin = { undeleteMs: 0, nowMs: () => 0 };

/** The part of the naive model that knows sessions, deleted ones and todos. */
export abstract class NaiveSessionsProvider extends NaiveDraftsProvider {
  readonly #state: NaiveState;
  readonly #now: () => number;
  readonly #bin: NaiveBin;
  protected readonly futureMs: number;

  /** Identifies a session. One that is deleted and made again under the same id gets another uid. */
  uidOf(sessionId: string): number | undefined {
    return this.living.get(sessionId)?.uid;
  }

  constructor(
    state: NaiveState,
    nowMicros: () => number = () => Date.now() * 1000,
    futureMs = 5 * 60_000,
    bin: NaiveBin = NO_BIN,
  ) {
    super();
    this.#state = state;
    this.#now = nowMicros;
    this.futureMs = futureMs;
    this.#bin = bin;
  }

  override async createSession(session: NewSession): Promise<Session> {
    const { sessionId = this.makeId(), parentId, title = "", metadata, labels = {} } = session;
    const existing = this.living.get(sessionId);
    if (existing !== undefined) {
      if (!holds(existing, session)) throw alreadyExists(sessionId);
      return toSession(existing);
    }
    const parent = parentId ? this.sourceOf(parentId) : undefined;
    if (parentId && parent === undefined) throw notFound("Session", parentId);
    const ancestry = parent ? ancestryOfChild(parent) : { ancestors: [], ancestorUids: [] };
    const owner = this.caller ?? session.owner;
    return toSession(this.add({ sessionId, parentId: parentId ?? "", title, metadata, labels, owner, ...ancestry }));
  }

  override async getSession(sessionId: string): Promise<Session> {
    return withUsage(this.find(sessionId));
  }

  override async listSessions({
    parentId,
    labels = [],
    limit,
    cursor,
  }: Parameters<StorageProvider["listSessions"]>[0]) {
    if (this.caller !== undefined && parentId !== "" && !this.living.has(parentId)) return { sessions: [] };
    const sessions = [...this.living.values()]
      .filter((session) => parentId === "" || session.parentId === parentId)
      .filter((session) =>
        labels.every((label) => Object.entries(session.labels).some((own) => own.join("=") === label)),
      )
      .sort(newestUpdateFirst)
      .map((session) => ({ ...toSession(session), messageCount: undefined }));
    const from =
      cursor === undefined
        ? 0
        : sessions.findIndex(
            (session) => newestUpdateFirst({ ...cursor, updateTimeMicros: cursor.key as number }, session) < 0,
          );
    const page = from < 0 ? [] : sessions.slice(from, from + limit);
    const last = page.at(-1);
    if (last === undefined || last === sessions.at(-1)) return { sessions: page };
    const { updateTimeMicros: key, sessionId } = last;
    return { sessions: page, next: { parentId, key, sessionId } };
  }

  override async updateSession(
    sessionId: string,
    { title, metadata, labels, owner, expireTimeMicros }: SessionChange,
    options?: { expectedRevision?: number | undefined },
  ): Promise<Session> {
    const session = this.find(sessionId);
    checkRevision(session, options?.expectedRevision);
    const isSame =
      (title === undefined || title === session.title) &&
      (metadata === undefined || sameStruct(metadata, session.metadata)) &&
      (labels === undefined || sameStruct(labels, session.labels));
    const isSameExpiry = expireTimeMicros === undefined || (expireTimeMicros ?? undefined) === session.expireTimeMicros;
    const isSameOwner = owner === undefined || owner === (session.owner ?? "");
    if (isSame && isSameExpiry && isSameOwner) return toSession(session);
    if (!isSameOwner) {
      for (const { message } of openDrafts(session)) discardDraft(session, message.id);
      session.owner = owner || undefined;
    }
    if (expireTimeMicros !== undefined) session.expireTimeMicros = expireTimeMicros ?? undefined;
    session.title = title ?? session.title;
    session.metadata = metadata ?? session.metadata;
    session.labels = labels ?? session.labels;
    this.touch(session);
    return toSession(session);
  }

  override async deleteSession(sessionId: string): Promise<void> {
    const session = this.find(sessionId);
    for (const { message } of openDrafts(session)) discardDraft(session, message.id);
    this.#state.sessions.delete(sessionId);
    // The stores' clock is past every expiry that a run sets, and what has expired is not kept.
    if (this.#bin.undeleteMs === 0 || session.expireTimeMicros !== undefined) return;
    const purgeMs = this.#bin.nowMs() + this.#bin.undeleteMs;
    this.#state.bin = [...this.#state.bin, { session, purgeMs }];
  }

  override async undeleteSession(sessionId: string): Promise<Session> {
    const living = this.living.get(sessionId);
    if (living?.broughtBackAs === living?.revision && living !== undefined) return toSession(living);
    if (living !== undefined) throw alreadyExists(sessionId);
    const session = this.#binned.findLast((one) => one.sessionId === sessionId);
    if (session === undefined) throw notFound("Session", sessionId);
    if (this.#state.sessions.has(sessionId)) throw alreadyExists(sessionId);
    this.#state.bin = this.#state.bin.filter((one) => one.session !== session);
    this.#state.sessions.set(sessionId, session);
    this.touch(session);
    session.broughtBackAs = session.revision;
    return toSession(session);
  }

  override async listDeletedSessions({
    limit,
    cursor,
  }: Parameters<StorageProvider["listDeletedSessions"]>[0]): Promise<DeletedSessionPage> {
    const all = this.#binned.toReversed().map((session) => ({ ...toSession(session), messageCount: undefined }));
    const from = cursor?.deleteTimeMicros ?? 0;
    const sessions = all.slice(from, from + limit);
    const last = sessions.at(-1);
    if (last === undefined || last === all.at(-1)) return { sessions };
    return { sessions, next: { deleteTimeMicros: from + limit, sessionId: last.sessionId } };
  }

  override async sumUsage({ limit, cursor, ...query }: SumOptions): Promise<UsagePage> {
    if (query.sessionId !== undefined) this.find(query.sessionId);
    const after = cursor?.after;
    const left = sumRows([...this.living.values()], query).filter(
      ({ values }) => after === undefined || compareValues(values, after) > 0,
    );
    const rows = left.slice(0, limit);
    const last = rows.at(-1);
    if (last === undefined || rows.length === left.length) return { rows, progress: 1 };
    return { rows, progress: 1, next: { sumId: "naive", after: last.values } };
  }

  override async readTodos() {
    return this.#state.todos;
  }

  override async replaceTodos(todos: readonly Todo[], ifRevision: number): Promise<boolean> {
    if (this.#state.todos.revision !== ifRevision) return false;
    this.#state.todos = { todos, revision: ifRevision + 1 };
    return true;
  }

  override async sweep() {
    return { sessions: 0, ranges: 0, repairedForks: 0, orphans: 0, failed: 0 };
  }

  protected get nowMicros(): number {
    return this.#now();
  }

  protected get all(): readonly NaiveSession[] {
    return [...this.living.values()];
  }

  protected get kept(): readonly NaiveSession[] {
    return [...this.all, ...this.#binned];
  }

  /** The deleted sessions that the caller may see and that can be brought back. */
  get #binned(): readonly NaiveSession[] {
    this.#state.bin = this.#state.bin.filter(({ purgeMs }) => purgeMs > this.#bin.nowMs());
    const sessions = this.#state.bin.map(({ session }) => session);
    return this.caller === undefined ? sessions : sessions.filter(({ owner }) => owner === this.caller);
  }

  protected find(sessionId: string): NaiveSession {
    const session = this.living.get(sessionId);
    if (session === undefined) throw notFound("Session", sessionId);
    return session;
  }

  /** The session that another one is made of, or that messages are copied from. */
  protected sourceOf(sessionId: string): NaiveSession | undefined {
    return this.living.get(sessionId);
  }

  /** All sessions that the caller may see. Those whose time has passed are deleted first. */
  protected get living(): ReadonlyMap<string, NaiveSession> {
    for (const [id, { expireTimeMicros = Number.POSITIVE_INFINITY }] of this.#state.sessions) {
      if (expireTimeMicros <= this.nowMicros) this.#state.sessions.delete(id);
    }
    const { sessions } = this.#state;
    return this.caller === undefined
      ? sessions
      : new Map([...sessions].filter(([, { owner }]) => owner === this.caller));
  }

  /** Everything that was ever uploaded. */
  protected get uploads(): NaiveUpload[] {
    return this.#state.uploads;
  }

  protected add(
    given: Partial<NaiveSession> &
      Pick<NaiveSession, "sessionId" | "parentId" | "title" | "ancestors" | "ancestorUids">,
  ): NaiveSession {
    if (this.#state.sessions.has(given.sessionId)) throw alreadyExists(given.sessionId);
    const now = this.nowMicros;
    const session: NaiveSession = {
      uid: ++this.#state.made,
      forkPointId: "",
      inheritedCount: 0,
      createTimeMicros: now,
      updateTimeMicros: now,
      origin: "",
      sourceUid: 0,
      revision: 1,
      broughtBackAs: 0,
      isRevisionKnown: true,
      expireTimeMicros: undefined,
      drafts: [],
      messages: [],
      undo: null,
      annotations: [],
      uploads: new Map(),
      ...given,
      metadata: given.metadata,
      owner: given.owner,
      labels: given.labels ?? {},
    };
    this.#state.sessions.set(session.sessionId, session);
    return session;
  }

  protected touch(session: NaiveSession): void {
    session.revision += 1;
    session.updateTimeMicros = this.nowMicros;
  }

  protected makeId(): string {
    return `made ${++this.#state.made}`;
  }
}

export function checkRevision({ revision }: NaiveSession, expectedRevision = revision): void {
  if (expectedRevision !== revision) throw new DomainError("aborted", `The session's revision is ${revision}`);
}

export function alreadyExists(sessionId: string): DomainError {
  return new DomainError("already_exists", `Session ${sessionId} already exists`);
}

function holds(existing: NaiveSession, { parentId, title, metadata, labels = {} }: NewSession): boolean {
  return (
    (!parentId || parentId === existing.parentId) &&
    (!title || title === existing.title) &&
    (metadata === undefined || sameStruct(metadata, existing.metadata)) &&
    (sameStruct(labels, {}) || sameStruct(labels, existing.labels))
  );
}

type UpdateOrder = { readonly updateTimeMicros: number; readonly sessionId: string };

function newestUpdateFirst(a: UpdateOrder, b: UpdateOrder): number {
  return (
    b.updateTimeMicros - a.updateTimeMicros || (a.sessionId < b.sessionId ? 1 : a.sessionId > b.sessionId ? -1 : 0)
  );
}
