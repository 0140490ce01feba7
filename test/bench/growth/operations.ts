import { type Engine, MESSAGE } from "../engine/subjects.js";

const PAGE = 100;

/** A session of a certain size. */
export interface Grown {
  readonly engine: Engine;
  readonly sessionId: string;
  readonly messages: number;
  /** The id of a message in the middle of the session. `middleMicros` is its timestamp. */
  readonly middleId: string;
  readonly middleMicros: number;
}

/** One operation. Only `run` is measured. */
export interface Operation {
  readonly name: string;
  /** Makes the session that the operation changes, or takes the given one. Resolves to its id. */
  prepare(grown: Grown, sessionId: string): Promise<string>;
  run(grown: Grown, sessionId: string): Promise<unknown>;
}

const itself = async ({ sessionId }: Grown) => sessionId;

const fork = async ({ engine, sessionId }: Grown, newSessionId: string) => {
  await engine.pool.sessions.forkSession(sessionId, { newSessionId });
  return newSessionId;
};

const reverted = async (grown: Grown, newSessionId: string) => {
  await fork(grown, newSessionId);
  await grown.engine.pool.sessions.revertSession(newSessionId, grown.middleId);
  return newSessionId;
};

/** The operations on a history. Edits are made to a fork of the session, so that the session keeps its size. */
export const OPERATIONS: readonly Operation[] = [
  {
    name: "append",
    prepare: itself,
    run: ({ engine }, id) => engine.pool.sessions.appendMessages(id, [MESSAGE]),
  },
  {
    name: "list, first page",
    prepare: itself,
    run: ({ engine }, id) => engine.pool.sessions.listMessages(id, { limit: PAGE }),
  },
  {
    name: "list, last page",
    prepare: itself,
    run: ({ engine }, id) => engine.pool.sessions.listMessages(id, { limit: PAGE, newestFirst: true }),
  },
  {
    name: "get message",
    prepare: itself,
    run: ({ engine, middleId }, id) => engine.pool.sessions.getMessage(id, middleId),
  },
  { name: "get session", prepare: itself, run: ({ engine }, id) => engine.pool.sessions.getSession(id) },
  { name: "fork", prepare: async (_, id) => id, run: fork },
  {
    name: "truncate",
    prepare: fork,
    run: ({ engine, middleId }, id) => engine.pool.sessions.truncateMessages(id, middleId),
  },
  {
    name: "revert",
    prepare: fork,
    run: ({ engine, middleId }, id) => engine.pool.sessions.revertSession(id, middleId),
  },
  { name: "unrevert", prepare: reverted, run: ({ engine }, id) => engine.pool.sessions.unrevertSession(id) },
  {
    name: "older message",
    prepare: fork,
    run: ({ engine, middleMicros }, id) =>
      engine.pool.sessions.appendMessages(id, [{ ...MESSAGE, timestampMicros: middleMicros }]),
  },
];

/** The operations whose time may depend on the number of sessions. */
export const SESSION_OPERATIONS: readonly Operation[] = [
  {
    name: "list sessions",
    prepare: itself,
    run: ({ engine }) => engine.pool.sessions.listSessions({ limit: PAGE }),
  },
];
