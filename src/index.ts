import type { HistoryOptions } from "./storage/history/log-history-provider.js";
import type {
  MongoStorageProvider as MongoProvider,
  MongoProviderOptions,
} from "./storage/mongodb/mongo-storage-provider.js";
import type {
  PostgresStorageProvider as PostgresProvider,
  PostgresProviderOptions,
} from "./storage/postgres/postgres-storage-provider.js";
import type { SqliteStorageProvider as SqliteProvider } from "./storage/sqlite/sqlite-storage-provider.js";

export { type Call, checkCall } from "./domain/call.js";
export type { ChatMessage, MessageChange, NewChatMessage, Part } from "./domain/chat-message.js";
export type { Draft, DraftDelta, DraftMessage, DraftVersion } from "./domain/draft.js";
export { ERASED_PARTS, isSameMessage, type MessageIdentity } from "./domain/erasure.js";
export { DomainError, type ErrorCode, NotImplementedError } from "./domain/errors.js";
export type { JsonObject, JsonValue } from "./domain/json.js";
export { type Labels, labelTexts } from "./domain/labels.js";
export { DEFAULT_LIMITS, type Limits } from "./domain/limits.js";
export { MessageBody } from "./domain/message-body.js";
export type {
  DeletedSessionCursor,
  DeletedSessionPage,
  FollowEvent,
  FollowPosition,
  LoadedSession,
  MessageCursor,
  MessagePage,
  MessageQuery,
  SessionCursor,
  SessionFilter,
  SessionPage,
  SessionTotal,
} from "./domain/page.js";
export type {
  SearchCursor,
  SearchedField,
  SearchHit,
  SearchOption,
  SearchPage,
  SearchScope,
  SearchTerm,
  Snippet,
  TextRange,
} from "./domain/search.js";
export { holdsTerms } from "./domain/search-text.js";
export type { MessagePreview, NewSession, Session, SessionChange, SessionView } from "./domain/session.js";
export {
  type OrderKey,
  parseOrder,
  parseTitleFilter,
  type SessionOrder,
  titleKey,
  titleWords,
} from "./domain/session-order.js";
export type { Todo, TodoList } from "./domain/todo.js";
export type { Usage as MessageUsage, UsageSums } from "./domain/usage.js";
export { usageOfText, usageText } from "./domain/usage-text.js";
export { DraftPool } from "./pool/draft-pool.js";
export type { PoolLogger } from "./pool/pool-context.js";
export { RootPool, type RootPoolOptions } from "./pool/root-pool.js";
export { SessionPool } from "./pool/session-pool.js";
export type * from "./pool/session-pool-types.js";
export { type TodoField, TodoTracker } from "./pool/todo-tracker.js";
export { TurnLock } from "./pool/turn-lock.js";
export { type HistoryOptions, LogHistoryProvider } from "./storage/history/log-history-provider.js";
export type * from "./storage/history/log-store.js";
export { MOST_UNINDEXED } from "./storage/history/log-store.js";
export {
  conditionsOf,
  type Looked,
  type LookedPage,
  labelCondition,
  type QueryDriver,
  type QueryIndexes,
  QueryPlanner,
  wordCondition,
} from "./storage/history/query-planner.js";
export { isWritable, namesLog, ownerOf, sweepTimeOf } from "./storage/history/record-facts.js";
export { comparePlaces, meets, placeIn } from "./storage/history/record-queries.js";
export { runningOfText, runningText } from "./storage/history/running-usage.js";
export { searchedText } from "./storage/history/searched-text.js";
export { usageRowsOf } from "./storage/history/usage-rows.js";
export { MemoryStorageProvider } from "./storage/memory/memory-storage-provider.js";
export { openStorage, type Storage, type StorageOptions } from "./storage/open-storage.js";
export { StorageManager, type StorageOperations } from "./storage/storage-manager.js";
export type * from "./storage/storage-provider.js";
export { StorageProvider } from "./storage/storage-provider.js";

export type SqliteStorageProvider = SqliteProvider;

/** A provider with its own SQLite file. The driver is loaded only by `open`. */
export const SqliteStorageProvider = {
  /** Opens a file, or `:memory:`, and makes it if it is missing; `failed_precondition` if the file cannot be used. */
  async open(path: string, options?: HistoryOptions): Promise<SqliteProvider> {
    const { SqliteStorageProvider } = await import("./storage/sqlite/sqlite-storage-provider.js");
    return await SqliteStorageProvider.open(path, options);
  },
};

export type PostgresStorageProvider = PostgresProvider;

/** A provider with its own pool of connections to PostgreSQL. The driver is loaded only by `open`. */
export const PostgresStorageProvider = {
  /**
   * Connects, and makes the schema and its tables if they are missing. `invalid_argument`: the URL cannot be read;
   * `unavailable`: no server answers, or it takes no writes; `failed_precondition`: the database cannot be used as it
   * is.
   */
  async open(url: string, options?: PostgresProviderOptions): Promise<PostgresProvider> {
    const { PostgresStorageProvider } = await import("./storage/postgres/postgres-storage-provider.js");
    return await PostgresStorageProvider.open(url, options);
  },
};

export type MongoStorageProvider = MongoProvider;

/** A provider with its own MongoDB client. The driver is loaded only by `connect`. */
export const MongoStorageProvider = {
  /**
   * Connects, and makes missing collections and indexes. `unavailable`: no server answers; `failed_precondition`: a
   * newer version made the database.
   */
  async connect(url: string, options?: MongoProviderOptions): Promise<MongoProvider> {
    const { MongoStorageProvider } = await import("./storage/mongodb/mongo-storage-provider.js");
    return await MongoStorageProvider.connect(url, options);
  },
};
