import { DEFAULT_LIMITS } from "../../src/domain/limits.js";
import type { MessageCursor } from "../../src/domain/page.js";
import type { NaiveSession } from "../contract/model/naive-session.js";
import { naiveState } from "../contract/model/naive-sessions-provider.js";
import { NaiveStorageProvider } from "../contract/model/naive-storage-provider.js";
import { type Operation, type Outcome, perform } from "./operations.js";

/** How far ahead of the service's clock a message may be dated. */
export const FUTURE_MICROS = DEFAULT_LIMITS.futureMs * 1000;

/** A state of the naive model. Neither it nor its sessions are ever changed; they are only replaced. */
export interface ModelState {
  readonly sessions: ReadonlyMap<string, Readonly<NaiveSession>>;
  /**
   * Maps the number of a list to the uid of the session that it has read. The list's cursor belongs to that session.
   */
  readonly lists: ReadonlyMap<number, number>;
}

export const EMPTY_STATE: ModelState = { sessions: new Map(), lists: new Map() };

/** The circumstances of an operation, besides its fields. */
export interface Circumstances {
  /** The number of the operation in the run, which becomes the uid of a session that the operation makes. */
  readonly number: number;
  /** The time of the service's clock, which stamps its messages. */
  readonly now: number;
  /** Whether a later page continues this list. */
  readonly continued: boolean;
}

/** A session as another operation has read it; null when there was none. */
export type Source = Readonly<NaiveSession> | null;

/**
 * Performs an operation on the naive model in this state, at one point. `source`: for fork, share, copy and create, the
 * source as it was when it was read, if that was earlier. Resolves to the same state if nothing has changed.
 */
export async function apply(
  state: ModelState,
  operation: Operation,
  at: Circumstances,
  source?: Source,
): Promise<readonly [ModelState, Outcome]> {
  const sessions = new Map([...state.sessions].map(([id, session]) => [id, { ...session }]));
  const naive = new NaiveAtPoint(sessions, at, source);
  naive.caller = operation.as;
  const cursorOf = (list: number) => cursorAfter(state, operation, list);
  const { outcome } = await perform(naive, operation, cursorOf);
  const read = operation.op === "list" && at.continued ? state.sessions.get(operation.id) : undefined;
  const lists = read ? new Map(state.lists).set(at.number, read.uid) : state.lists;
  const changed = withKept(state.sessions, sessions);
  const isSame = changed === state.sessions && lists === state.lists;
  return [isSame ? state : { sessions: changed, lists }, outcome];
}

export function refuse(code: string): Outcome {
  return { error: code };
}

class NaiveAtPoint extends NaiveStorageProvider {
  readonly #source: Source | undefined;

  constructor(sessions: Map<string, NaiveSession>, { number, now }: Circumstances, source: Source | undefined) {
    const state = { ...naiveState(), sessions, todos: { todos: [], revision: 0 }, made: number - 1 };
    super(state, () => now, DEFAULT_LIMITS.futureMs);
    this.#source = source;
  }

  protected override sourceOf(sessionId: string): NaiveSession | undefined {
    if (this.#source === undefined) return super.sourceOf(sessionId);
    return this.#source !== null && isVisible(this.#source, this.caller) ? this.#source : undefined;
  }
}

/** Whether a caller that is bound to this owner may see a session; without one, it sees all. */
export function isVisible({ owner }: Readonly<NaiveSession>, caller: string | undefined): boolean {
  return caller === undefined || owner === caller;
}

/** The cursor of the naive model after the last message of a list. */
function cursorAfter({ lists }: ModelState, operation: Operation, list: number): MessageCursor | undefined {
  if (operation.op !== "page") return undefined;
  const query = { newestFirst: operation.newestFirst, includeAncestors: false };
  return { sessionUid: `${lists.get(list)}`, query, log: "", seq: -1, messageId: operation.mid };
}

/** Keeps the objects of sessions that have not changed. Returns the map from before if none has. */
function withKept(
  before: ReadonlyMap<string, Readonly<NaiveSession>>,
  after: ReadonlyMap<string, NaiveSession>,
): ReadonlyMap<string, Readonly<NaiveSession>> {
  const kept = new Map([...after].map(([id, session]) => [id, keepIfSame(before.get(id), session)] as const));
  const isSame = kept.size === before.size && [...kept].every(([id, session]) => before.get(id) === session);
  return isSame ? before : kept;
}

function keepIfSame(before: Readonly<NaiveSession> | undefined, after: NaiveSession): Readonly<NaiveSession> {
  const names = Object.keys(after) as (keyof NaiveSession)[];
  return before && names.every((name) => before[name] === after[name]) ? before : after;
}
