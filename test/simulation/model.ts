import { DEFAULT_LIMITS } from "../../src/domain/limits.js";
import { FORK_TITLE, type Operation, type Outcome } from "./operations.js";

/** How far ahead of the service's clock a message may be dated. */
export const FUTURE_MICROS = DEFAULT_LIMITS.futureMs * 1000;

/** A message of the model. `shownBy` names the ancestor that shows it, and is set only in ancestries. */
interface ModelMessage {
  readonly id: string;
  readonly ts: number;
  readonly body: string;
  readonly origin: string;
  readonly shownBy?: string;
}

interface ModelOrigin {
  readonly kind: "fork" | "share";
  readonly source: string;
  readonly sourceLife: number;
  readonly mid: string | null;
}

export interface ModelSession {
  /**
   * The number of the operation that made the session. A session that is recreated under the same id is another
   * session.
   */
  readonly life: number;
  readonly title: string;
  readonly parent: string;
  readonly forkPoint: string;
  readonly inherited: number;
  readonly revision: number;
  readonly messages: readonly ModelMessage[];
  readonly ancestry: readonly ModelMessage[];
  readonly undo: readonly ModelMessage[] | null;
  readonly origin: ModelOrigin | null;
}

/**
 * The state of the model: one array of messages for each session, in stable order by timestamp, with physical copies.
 * It is never changed, only replaced.
 */
export interface ModelState {
  readonly sessions: { readonly [id: string]: ModelSession };
  /**
   * Maps the number of a list to the session that it has read, as the number of the operation that made it. The list's
   * cursor belongs to that session.
   */
  readonly lists: { readonly [list: number]: number };
}

export const EMPTY_STATE: ModelState = { sessions: {}, lists: {} };

/** The circumstances of an operation, besides its fields. */
export interface Circumstances {
  /** The number of the operation in the run. */
  readonly number: number;
  /** The time of the service's clock, which stamps its messages. */
  readonly now: number;
  /** Whether a later page continues this list. */
  readonly continued: boolean;
}

type Step = readonly [ModelState, Outcome];

/**
 * Applies an operation to a state at one point. `source`: for fork, share, copy and create, the source as it was when
 * it was read.
 */
export function apply(state: ModelState, operation: Operation, at: Circumstances, source?: ModelSession): Step {
  if (operation.op === "create") return create(state, operation, at, source);
  if (operation.op === "fork" || operation.op === "share") return fork(state, operation, at, source);
  if (operation.op === "copy") return copy(state, operation, source);
  const session = state.sessions[operation.id];
  if (operation.op === "append" && hasTwice(operation.messages.map((m) => m.id)))
    return [state, refuse("invalid_argument")];
  if (operation.op === "append" && operation.messages.some(({ ts }) => ts !== null && ts > at.now + FUTURE_MICROS))
    return [state, refuse("invalid_argument")];
  if (!session) return [state, refuse("not_found")];
  switch (operation.op) {
    case "append":
      return append(state, session, operation, at);
    case "session":
      return [state, shape(session)];
    case "record":
      return [state, shapeRecord(session)];
    case "get": {
      const i = session.messages.findIndex((m) => m.id === operation.mid);
      return [state, i < 0 ? null : shapeOwn(session.messages, operation.id)[i]];
    }
    case "count":
      return [state, session.messages.length];
    case "load": {
      const messages = shapeOwn(session.messages, operation.id);
      const more = messages.length > operation.limit;
      return [state, { session: shape(session), messages: messages.slice(-operation.limit), more }];
    }
    case "list":
      return list(state, session, operation, at);
    case "page":
      return [state, page(state, session, operation)];
    case "truncate":
    case "revert":
      return cut(state, session, operation);
    case "updateMessage":
    case "deleteMessage":
      return editOne(state, session, operation);
    case "restore": {
      if (!session.undo) return [state, refuse("failed_precondition")];
      const restored = session.undo.length - session.messages.length;
      return [changed(state, operation.id, session, { messages: session.undo, undo: null }), { restored }];
    }
    case "update": {
      if (operation.expected !== null && operation.expected !== session.revision) return [state, refuse("aborted")];
      const revision = session.revision + (operation.title === session.title ? 0 : 1);
      const next = { ...session, title: operation.title, revision };
      return [put(state, operation.id, next), { title: operation.title, revision }];
    }
    case "delete": {
      const { [operation.id]: _, ...sessions } = state.sessions;
      return [{ ...state, sessions }, {}];
    }
  }
}

export function shape({ messages, undo }: ModelSession): unknown {
  return { count: messages.length, reverted: undo !== null };
}

function shapeRecord({ title, parent, forkPoint, inherited, revision }: ModelSession): unknown {
  return { title, parent, forkPoint, inherited, revision };
}

export function refuse(code: string): { error: string } {
  return { error: code };
}

type Of<K extends Operation["op"]> = Extract<Operation, { readonly op: K }>;

function create(state: ModelState, operation: Of<"create">, at: Circumstances, source?: ModelSession): Step {
  const there = state.sessions[operation.id];
  if (there) {
    const same =
      (operation.parent === null || operation.parent === there.parent) &&
      (operation.title === null || operation.title === there.title);
    return [state, same ? shapeRecord(there) : refuse("already_exists")];
  }
  const parent = operation.parent === null ? null : (source ?? state.sessions[operation.parent]);
  if (parent === undefined) return [state, refuse("not_found")];
  const shown = parent?.messages.map((m) => ({ ...m, shownBy: operation.parent ?? "" })) ?? [];
  const session: ModelSession = {
    life: at.number,
    title: operation.title ?? "",
    parent: operation.parent ?? "",
    forkPoint: "",
    inherited: 0,
    revision: 1,
    messages: [],
    ancestry: [...(parent?.ancestry ?? []), ...shown],
    undo: null,
    origin: null,
  };
  return [put(state, operation.id, session), shapeRecord(session)];
}

function append(state: ModelState, session: ModelSession, operation: Of<"append">, at: Circumstances): Step {
  const known = (id: string) => session.messages.find((m) => m.id === id);
  for (const { id, body, ts } of operation.messages) {
    const there = known(id);
    if (there && (there.body !== body || (ts !== null && ts !== there.ts))) return [state, refuse("already_exists")];
  }
  const fresh = operation.messages.filter(({ id }) => !known(id));
  let messages = session.messages;
  for (const { id, body, ts } of fresh) {
    const last = messages.at(-1)?.ts ?? Number.NEGATIVE_INFINITY;
    messages = insert(messages, { id, ts: ts ?? Math.max(at.now, last), body, origin: operation.id });
  }
  const ids = operation.messages.map((m) => m.id);
  const position = messages.findIndex((m) => m.id === ids[0]);
  if (fresh.length === 0) return [state, { ids, position }];
  const { expected } = operation;
  const isMisplaced = (id: string, i: number) => messages.findIndex((m) => m.id === id) !== (expected ?? 0) + i;
  if (expected !== null && ids.some(isMisplaced)) return [state, refuse("aborted")];
  return [put(state, operation.id, { ...session, messages, undo: null }), { ids, position }];
}

function list(state: ModelState, session: ModelSession, operation: Of<"list">, at: Circumstances): Step {
  const own = shapeOwn(session.messages, operation.id);
  const shown = session.ancestry.map(({ id, ts, body, origin, shownBy }) => ({
    id,
    ts,
    body,
    origin,
    session: shownBy,
  }));
  const { since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY } = operation;
  const all = [...(operation.ancestors ? shown : []), ...own].filter(({ ts }) => ts >= since && ts < until);
  if (operation.newestFirst) all.reverse();
  const { offset, limit } = operation;
  const next = at.continued ? { ...state, lists: { ...state.lists, [at.number]: session.life } } : state;
  return [next, { messages: all.slice(offset, offset + limit), more: all.length > offset + limit }];
}

function page(state: ModelState, session: ModelSession, operation: Of<"page">): Outcome {
  if (state.lists[operation.after] !== session.life) return refuse("invalid_argument");
  const all = shapeOwn(session.messages, operation.id);
  if (operation.newestFirst) all.reverse();
  const last = all.findIndex((m) => m.id === operation.mid);
  if (last < 0) return refuse("failed_precondition");
  const rest = all.slice(last + 1);
  return { messages: rest.slice(0, operation.limit), more: rest.length > operation.limit };
}

function cut(state: ModelState, session: ModelSession, operation: Of<"truncate" | "revert">): Step {
  const i = operation.mid === null ? -1 : session.messages.findIndex((m) => m.id === operation.mid);
  if (i < 0 && operation.mid !== null) return [state, refuse("invalid_argument")];
  const removed = session.messages.length - i - 1;
  if (removed === 0) return [state, { removed }];
  const undo = operation.op === "revert" ? (session.undo ?? session.messages) : null;
  return [changed(state, operation.id, session, { messages: session.messages.slice(0, i + 1), undo }), { removed }];
}

function editOne(state: ModelState, session: ModelSession, operation: Of<"updateMessage" | "deleteMessage">): Step {
  const { id, mid, expected } = operation;
  const i = session.messages.findIndex((m) => m.id === mid);
  const old = session.messages[i];
  if (!old) return [state, refuse("not_found")];
  if (expected !== null && expected !== session.revision) return [state, refuse("aborted")];
  const isUpdate = operation.op === "updateMessage";
  const messages = isUpdate
    ? session.messages.with(i, { ...old, body: operation.body })
    : session.messages.toSpliced(i, 1);
  const outcome = isUpdate ? shapeOwn(messages, id)[i] : {};
  if (isUpdate && operation.body === old.body) return [state, outcome];
  return [changed(state, id, session, { messages, undo: null }), outcome];
}

function fork(state: ModelState, operation: Of<"fork" | "share">, at: Circumstances, source?: ModelSession): Step {
  const { id, to, mid, op: kind } = operation;
  const from = source ?? state.sessions[id];
  const there = state.sessions[to];
  if (there) {
    const same =
      there.origin?.kind === kind &&
      there.origin.source === id &&
      there.origin.mid === mid &&
      (from === undefined || from.life === there.origin.sourceLife);
    if (!same) return [state, refuse("already_exists")];
    return [state, { forkPoint: there.forkPoint || null, copied: there.inherited, session: shapeRecord(there) }];
  }
  if (!from) return [state, refuse("not_found")];
  const taken = upTo(from, mid);
  if (!taken) return [state, refuse("invalid_argument")];
  const session: ModelSession = {
    life: at.number,
    title: FORK_TITLE,
    parent: id,
    forkPoint: taken.at(-1)?.id ?? "",
    inherited: taken.length,
    revision: 1,
    messages: taken,
    ancestry: from.ancestry,
    undo: null,
    origin: { kind, source: id, sourceLife: from.life, mid },
  };
  const outcome = { forkPoint: session.forkPoint || null, copied: taken.length, session: shapeRecord(session) };
  return [put(state, to, session), outcome];
}

function copy(state: ModelState, operation: Of<"copy">, source?: ModelSession): Step {
  const { id, to, mid } = operation;
  if (id === to) return [state, refuse("invalid_argument")];
  const from = source ?? state.sessions[id];
  const target = state.sessions[to];
  if (!from || !target) return [state, refuse("not_found")];
  const taken = upTo(from, mid);
  if (!taken) return [state, refuse("invalid_argument")];
  const fresh = taken.filter(({ id: taken }) => !target.messages.some((m) => m.id === taken));
  if (fresh.length === 0) return [state, { forkPoint: null, copied: 0 }];
  const messages = fresh.reduce<readonly ModelMessage[]>(insert, target.messages);
  const outcome = { forkPoint: fresh.at(-1)?.id, copied: fresh.length };
  return [changed(state, to, target, { messages, undo: null }), outcome];
}

function upTo(from: ModelSession, mid: string | null): readonly ModelMessage[] | null {
  if (mid === null) return from.messages;
  const i = from.messages.findIndex((m) => m.id === mid);
  return i < 0 ? null : from.messages.slice(0, i + 1);
}

/** Inserts a message after all messages that are not newer. */
function insert(messages: readonly ModelMessage[], message: ModelMessage): readonly ModelMessage[] {
  let i = messages.length;
  while (i > 0 && (messages[i - 1] as ModelMessage).ts > message.ts) i--;
  return [...messages.slice(0, i), message, ...messages.slice(i)];
}

function shapeOwn(messages: readonly ModelMessage[], session: string) {
  return messages.map(({ id, ts, body, origin }, position) => ({ id, ts, body, origin, session, position }));
}

function changed(state: ModelState, id: string, session: ModelSession, change: Partial<ModelSession>): ModelState {
  return put(state, id, { ...session, ...change, revision: session.revision + 1 });
}

function put(state: ModelState, id: string, session: ModelSession): ModelState {
  return { ...state, sessions: { ...state.sessions, [id]: session } };
}

function hasTwice(ids: readonly string[]): boolean {
  return new Set(ids).size !== ids.length;
}
