import type { Call, Json, Row } from "./row.js";

const CREATE: Call = [
  "SessionService.CreateSession",
  { sessionId: "s", title: "Fähre", metadata: { "a.b": [1, null] } },
];

export function message(id: string, second: number): Json {
  const timestamp = `2026-01-01T10:00:0${second}Z`;
  return { info: { id, role: "user", timestamp }, parts: [{ id: "p", type: "text", text: `${id} 京都` }] };
}

/** A session `s` with the messages m1, m2, m3. */
export const GIVEN: readonly Call[] = [
  CREATE,
  [
    "MessageService.AppendMessages",
    { sessionId: "s", messages: [message("m1", 1), message("m2", 2), message("m3", 3)] },
  ],
];
/** The same, with a draft `d` of version 2. */
export const DRAFTED: readonly Call[] = [
  ...GIVEN,
  [
    "MessageService.StartDraft",
    {
      sessionId: "s",
      message: { info: { id: "d", role: "assistant", metadata: { a: 1 } } },
      discardWhenAbandoned: true,
    },
  ],
  [
    "MessageService.ExtendDraft",
    { sessionId: "s", messageId: "d", version: "1", deltas: [{ appendText: { partId: "p", text: "京" } }] },
  ],
];

export function answeredDraft(version: string, parts: readonly Json[]): Json {
  const info = { id: "d", role: "assistant", metadata: { a: 1 }, sessionId: "s", originSessionId: "s" };
  const times = { startTime: "$any", updateTime: "$any" };
  return { message: { info, parts: [...parts] }, version, ...times, discardWhenAbandoned: true };
}

const FORKED: readonly Call[] = [
  ...GIVEN,
  ["SessionService.ForkSession", { sessionId: "s", newSessionId: "f", upToMessageId: "m2" }],
];
const DELETED: readonly Call[] = [...GIVEN, ["SessionService.DeleteSession", { sessionId: "s" }]];
const REVERTED: readonly Call[] = [...GIVEN, ["SessionService.RevertSession", { sessionId: "s", upToMessageId: "m1" }]];

const TIMES = { createTime: "$any", updateTime: "$any" };
const SESSION = {
  sessionId: "s",
  title: "Fähre",
  metadata: { "a.b": [1, null] },
  ...TIMES,
  messageCount: "3",
  revision: "$any",
};
const { messageCount: _count, ...BASIC } = SESSION;
const FORK = {
  ...SESSION,
  sessionId: "f",
  parentId: "s",
  forkPointId: "m2",
  messageCount: "2",
  inheritedCount: "2",
};

const LABELS = { user: "ada", "a.b/c": "", q: "a=b&c d+é%" };
const LABELED: Call = ["SessionService.CreateSession", { sessionId: "s", labels: LABELS }];

const TITLED: readonly Call[] = [
  ["SessionService.CreateSession", { sessionId: "s", title: "a Trip" }],
  ["SessionService.CreateSession", { sessionId: "t", title: "Zürich trip" }],
  ["SessionService.CreateSession", { sessionId: "u", title: "trips" }],
];
const OWNED: Call = ["SessionService.CreateSession", { sessionId: "s", owner: "ada 京" }];
const OWNED_SESSION = { sessionId: "s", ...TIMES, messageCount: "0", revision: "$any", owner: "ada 京" };

const EXPIRING: Call = ["SessionService.CreateSession", { sessionId: "s", expireTime: "2200-01-01T00:00:00Z" }];
const EXPIRES = { sessionId: "s", ...TIMES, messageCount: "0", revision: "$any" };

export function answered(id: string, second: number, position: number, sessionId = "s", origin = "s"): Json {
  const { info, parts } = message(id, second) as { info: Json; parts: Json[] };
  return { info: { ...info, sessionId, position: String(position), originSessionId: origin }, parts };
}

export const NO_SESSION = { code: "not_found", message: 'Session "nobody" not found' } as const;
export const NO_MESSAGE = {
  code: "invalid_argument",
  message: 'up_to_message_id "nothing" is not in session "s"',
} as const;
const LONG_ID = "x".repeat(129);
const DEEP = Array.from({ length: 25 }).reduce<Json>((inner) => ({ deeper: inner }), {});

export const SESSION_ROWS: readonly Row[] = [
  {
    rpc: "SessionService.CreateSession",
    what: "makes a session",
    request: { sessionId: "s", title: "Fähre", metadata: { "a.b": [1, null] } },
    answer: { ...SESSION, messageCount: "0" },
  },
  {
    rpc: "SessionService.CreateSession",
    what: "makes a session without an id",
    request: {},
    answer: { sessionId: "$any", ...TIMES, messageCount: "0", revision: "$any" },
  },
  {
    rpc: "SessionService.CreateSession",
    what: "again",
    given: [CREATE],
    request: CREATE[1],
    answer: { ...SESSION, messageCount: "0" },
  },
  {
    rpc: "SessionService.CreateSession",
    what: "an id that is taken",
    given: [CREATE],
    request: { sessionId: "s", title: "other" },
    error: { code: "already_exists", message: 'Session "s" exists and was not made by this call' },
  },
  {
    rpc: "SessionService.CreateSession",
    what: "an unknown parent",
    request: { parentId: "nobody" },
    error: NO_SESSION,
  },
  {
    rpc: "SessionService.CreateSession",
    what: "an id over its limit",
    request: { sessionId: LONG_ID },
    error: { code: "invalid_argument", message: "session_id is 129 bytes; at most 128 are allowed" },
  },
  {
    rpc: "SessionService.CreateSession",
    what: "a title over its limit",
    request: { title: "é".repeat(513) },
    error: { code: "invalid_argument", message: "title is 1026 bytes; at most 1024 are allowed" },
  },
  {
    rpc: "SessionService.CreateSession",
    what: "metadata over its limit",
    request: { metadata: { text: "x".repeat(65_536) } },
    error: { code: "invalid_argument", message: "metadata is 65554 bytes; at most 65536 are allowed" },
  },
  {
    rpc: "SessionService.CreateSession",
    what: "metadata that is nested too deep",
    request: { metadata: DEEP },
    error: { code: "invalid_argument", message: "metadata is nested deeper than 24 levels" },
  },
  {
    rpc: "SessionService.CreateSession",
    what: "labels",
    request: { sessionId: "s", labels: LABELS },
    answer: { sessionId: "s", ...TIMES, messageCount: "0", revision: "$any", labels: LABELS },
  },
  {
    rpc: "SessionService.CreateSession",
    what: "again with other labels",
    given: [LABELED],
    request: { sessionId: "s", labels: { user: "ada" } },
    error: { code: "already_exists", message: 'Session "s" exists and was not made by this call' },
  },
  {
    rpc: "SessionService.CreateSession",
    what: "a label's key over its limit",
    request: { labels: { ["k".repeat(65)]: "" } },
    error: { code: "invalid_argument", message: "A key of labels is 65 bytes; at most 64 are allowed" },
  },
  {
    rpc: "SessionService.CreateSession",
    what: "a label's value over its limit",
    request: { labels: { user: "é".repeat(129) } },
    error: { code: "invalid_argument", message: 'labels["user"] is 258 bytes; at most 256 are allowed' },
  },
  {
    rpc: "SessionService.CreateSession",
    what: "too many labels",
    request: { labels: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`k${i}`, ""])) },
    error: { code: "invalid_argument", message: "labels has 33 entries; at most 32 are allowed" },
  },
  {
    rpc: "SessionService.CreateSession",
    what: "a time of expiry",
    request: EXPIRING[1],
    answer: { ...EXPIRES, expireTime: "2200-01-01T00:00:00Z" },
  },
  {
    rpc: "SessionService.CreateSession",
    what: "an owner",
    request: OWNED[1],
    answer: OWNED_SESSION,
  },
  {
    rpc: "SessionService.CreateSession",
    what: "an owner over its limit",
    request: { owner: "é".repeat(65) },
    error: { code: "invalid_argument", message: "owner is 130 bytes; at most 128 are allowed" },
  },
  {
    rpc: "SessionService.GetSession",
    what: "a session that has expired",
    given: [...GIVEN, ["SessionService.UpdateSession", { sessionId: "s", expireTime: "2020-01-01T00:00:00Z" }]],
    request: { sessionId: "s" },
    error: { code: "not_found", message: 'Session "s" not found' },
  },
  { rpc: "SessionService.GetSession", what: "a session", given: GIVEN, request: { sessionId: "s" }, answer: SESSION },
  { rpc: "SessionService.GetSession", what: "a fork", given: FORKED, request: { sessionId: "f" }, answer: FORK },
  { rpc: "SessionService.GetSession", what: "an unknown session", request: { sessionId: "nobody" }, error: NO_SESSION },
  {
    rpc: "SessionService.GetSession",
    what: "an id that needs escapes",
    request: { sessionId: "a/b?c#%2F 京" },
    error: { code: "not_found", message: 'Session "a/b?c#%2F 京" not found' },
  },
  {
    rpc: "SessionService.LoadSession",
    what: "a session and its last messages",
    given: GIVEN,
    request: { sessionId: "s", limit: 2 },
    answer: { session: SESSION, messages: [answered("m2", 2, 1), answered("m3", 3, 2)], nextPageToken: "$any" },
  },
  {
    rpc: "SessionService.LoadSession",
    what: "a session with a draft",
    given: DRAFTED,
    request: { sessionId: "s", limit: 1 },
    answer: {
      session: SESSION,
      messages: [answered("m3", 3, 2)],
      nextPageToken: "$any",
      drafts: [answeredDraft("2", [{ id: "p", type: "text", text: "京" }])],
    },
  },
  {
    rpc: "SessionService.LoadSession",
    what: "an unknown session",
    request: { sessionId: "nobody" },
    error: NO_SESSION,
  },
  {
    rpc: "SessionService.LoadSession",
    what: "an invalid token",
    given: GIVEN,
    request: { sessionId: "s", pageToken: "bogus" },
    error: { code: "invalid_argument", message: "page_token is not a token that was given out" },
  },
  {
    rpc: "SessionService.ListSessions",
    what: "children",
    given: FORKED,
    request: { parentId: "s" },
    answer: { sessions: [withoutCount(FORK)] },
  },
  {
    rpc: "SessionService.ListSessions",
    what: "a first page",
    given: FORKED,
    request: { limit: 1 },
    answer: { sessions: [withoutCount(FORK)], nextPageToken: "$any" },
  },
  { rpc: "SessionService.ListSessions", what: "none", request: {}, answer: {} },
  {
    rpc: "SessionService.ListSessions",
    what: "with a label",
    given: [LABELED, ["SessionService.CreateSession", { sessionId: "t" }]],
    request: { label: ["q=a=b&c d+é%"] },
    answer: { sessions: [{ sessionId: "s", ...TIMES, revision: "$any", labels: LABELS }] },
  },
  {
    rpc: "SessionService.ListSessions",
    what: "with several labels",
    given: [LABELED, ["SessionService.CreateSession", { sessionId: "t", labels: { user: "ada", empty: "" } }]],
    request: { label: ["user=ada", "empty="] },
    answer: {
      sessions: [{ sessionId: "t", ...TIMES, revision: "$any", labels: { user: "ada", empty: "" } }],
    },
  },
  {
    rpc: "SessionService.ListSessions",
    what: "with a label that nobody has",
    given: [LABELED],
    request: { label: ["user=bob"] },
    answer: {},
  },
  {
    rpc: "SessionService.ListSessions",
    what: "of an owner",
    given: [OWNED, ["SessionService.CreateSession", { sessionId: "t" }]],
    request: { owner: "ada 京" },
    answer: { sessions: [{ sessionId: "s", ...TIMES, revision: "$any", owner: "ada 京" }] },
  },
  {
    rpc: "SessionService.ListSessions",
    what: "without an owner",
    given: [OWNED, ["SessionService.CreateSession", { sessionId: "t" }]],
    request: { noOwner: true },
    answer: { sessions: [{ sessionId: "t", ...TIMES, revision: "$any" }] },
  },
  {
    rpc: "SessionService.ListSessions",
    what: "of an owner and without one",
    request: { owner: "ada", noOwner: true },
    error: { code: "invalid_argument", message: "owner and no_owner exclude each other" },
  },
  {
    rpc: "SessionService.ListSessions",
    what: "by title, of a time, with a total",
    given: TITLED,
    request: {
      ...{ orderBy: "title desc", title: "TRIP", withTotal: true },
      ...{ updatedSince: "2020-01-01T00:00:00Z", updatedUntil: "2200-01-01T00:00:00Z" },
    },
    answer: {
      sessions: [
        { sessionId: "t", ...TIMES, revision: "$any", title: "Zürich trip" },
        { sessionId: "s", ...TIMES, revision: "$any", title: "a Trip" },
      ],
      totalSize: "2",
    },
  },
  {
    rpc: "SessionService.ListSessions",
    what: "in an order that there is none of",
    request: { orderBy: "title asc" },
    error: {
      code: "invalid_argument",
      message: 'order_by is "title asc"; ascending is written without a direction: "title"',
    },
  },
  {
    rpc: "SessionService.ListSessions",
    what: "with a title without words",
    request: { title: "..." },
    error: { code: "invalid_argument", message: "title holds no letter or digit to look for" },
  },
  {
    rpc: "SessionService.ListSessions",
    what: "of a time that ends before it begins",
    request: { updatedSince: "2021-01-01T00:00:00Z", updatedUntil: "2020-01-01T00:00:00Z" },
    error: { code: "invalid_argument", message: "updated_since is after updated_until" },
  },
  {
    rpc: "SessionService.ListSessions",
    what: "in full view",
    given: GIVEN,
    request: { view: "SESSION_VIEW_FULL" },
    answer: {
      sessions: [
        {
          ...SESSION,
          lastMessage: { messageId: "m3", role: "user", timestamp: "2026-01-01T10:00:03Z", text: "m3 京都" },
        },
      ],
    },
  },
  {
    rpc: "SessionService.ListSessions",
    what: "in basic view",
    given: FORKED,
    request: { parentId: "s", view: "SESSION_VIEW_BASIC" },
    answer: { sessions: [withoutCount(FORK)] },
  },
  {
    rpc: "SessionService.ListSessions",
    what: "with an invalid label",
    request: { label: ["user"] },
    error: { code: "invalid_argument", message: 'label[0] is "user"; it must be key=value' },
  },
  {
    rpc: "SessionService.ListSessions",
    what: "a limit below 1",
    request: { limit: -1 },
    error: { code: "invalid_argument", message: "limit is -1; it must be a whole number of at least 1" },
  },
  {
    rpc: "SessionService.UpdateSession",
    what: "the fields that are set",
    given: GIVEN,
    request: { sessionId: "s", title: "New" },
    answer: { ...SESSION, title: "New" },
  },
  {
    rpc: "SessionService.UpdateSession",
    what: "the fields of the mask",
    given: GIVEN,
    request: { sessionId: "s", title: "New", updateMask: "metadata" },
    answer: { ...SESSION, metadata: {} },
  },
  {
    rpc: "SessionService.UpdateSession",
    what: "labels, replaced whole",
    given: [LABELED],
    request: { sessionId: "s", labels: { other: "1" } },
    answer: { sessionId: "s", ...TIMES, messageCount: "0", revision: "$any", labels: { other: "1" } },
  },
  {
    rpc: "SessionService.UpdateSession",
    what: "another time of expiry",
    given: [EXPIRING],
    request: { sessionId: "s", expireTime: "2200-01-02T00:00:00.000001Z" },
    answer: { ...EXPIRES, expireTime: "2200-01-02T00:00:00.000001Z" },
  },
  {
    rpc: "SessionService.UpdateSession",
    what: "removing the time of expiry",
    given: [EXPIRING],
    request: { sessionId: "s", updateMask: "expireTime" },
    answer: EXPIRES,
  },
  {
    rpc: "SessionService.UpdateSession",
    what: "a time of expiry that is out of range",
    given: [EXPIRING],
    request: { sessionId: "s", expireTime: "9999-01-01T00:00:00Z" },
    error: { code: "invalid_argument", message: "expire_time is out of range: it may be from July 1684 to June 2255" },
  },
  {
    rpc: "SessionService.UpdateSession",
    what: "removing all labels",
    given: [LABELED],
    request: { sessionId: "s", updateMask: "labels" },
    answer: { sessionId: "s", ...TIMES, messageCount: "0", revision: "$any" },
  },
  {
    rpc: "SessionService.UpdateSession",
    what: "another owner",
    given: [OWNED],
    request: { sessionId: "s", owner: "bob" },
    answer: { ...OWNED_SESSION, owner: "bob" },
  },
  {
    rpc: "SessionService.UpdateSession",
    what: "removing the owner",
    given: [OWNED],
    request: { sessionId: "s", updateMask: "owner" },
    answer: { sessionId: "s", ...TIMES, messageCount: "0", revision: "$any" },
  },
  {
    rpc: "SessionService.UpdateSession",
    what: "another revision",
    given: GIVEN,
    request: { sessionId: "s", title: "New", expectedRevision: "99" },
    error: { code: "aborted", message: "expected_revision is 99, but the session's revision is 1" },
  },
  {
    rpc: "SessionService.UpdateSession",
    what: "a mask of unknown fields",
    given: GIVEN,
    request: { sessionId: "s", updateMask: "revision" },
    error: {
      code: "invalid_argument",
      message: 'update_mask names "revision"; it may name title, metadata, labels, expire_time, owner',
    },
  },
  {
    rpc: "SessionService.UpdateSession",
    what: "an unknown session",
    request: { sessionId: "nobody", title: "x" },
    error: NO_SESSION,
  },
  { rpc: "SessionService.DeleteSession", what: "a session", given: GIVEN, request: { sessionId: "s" }, answer: {} },
  {
    rpc: "SessionService.DeleteSession",
    what: "an unknown session",
    request: { sessionId: "nobody" },
    error: NO_SESSION,
  },
  {
    rpc: "SessionService.ForkSession",
    what: "up to a message",
    given: GIVEN,
    request: { sessionId: "s", newSessionId: "f", upToMessageId: "m2" },
    answer: { session: FORK, forkPointId: "m2", copiedCount: "2" },
  },
  {
    rpc: "SessionService.ForkSession",
    what: "again",
    given: FORKED,
    request: { sessionId: "s", newSessionId: "f", upToMessageId: "m2" },
    answer: { session: FORK, forkPointId: "m2", copiedCount: "2" },
  },
  {
    rpc: "SessionService.ForkSession",
    what: "onto another session",
    given: FORKED,
    request: { sessionId: "s", newSessionId: "f" },
    error: { code: "already_exists", message: 'Session "f" exists and was not made by this call' },
  },
  {
    rpc: "SessionService.ForkSession",
    what: "at an unknown message",
    given: GIVEN,
    request: { sessionId: "s", upToMessageId: "nothing" },
    error: NO_MESSAGE,
  },
  {
    rpc: "SessionService.ForkSession",
    what: "an unknown session",
    request: { sessionId: "nobody" },
    error: NO_SESSION,
  },
  {
    rpc: "SessionService.ShareSession",
    what: "all messages",
    given: GIVEN,
    request: { sessionId: "s", newSessionId: "f" },
    answer: {
      session: { ...FORK, forkPointId: "m3", messageCount: "3", inheritedCount: "3" },
      forkPointId: "m3",
      copiedCount: "3",
    },
  },
  {
    rpc: "SessionService.ShareSession",
    what: "onto another session",
    given: FORKED,
    request: { sessionId: "s", newSessionId: "f" },
    error: { code: "already_exists", message: 'Session "f" exists and was not made by this call' },
  },
  {
    rpc: "SessionService.ShareSession",
    what: "an unknown session",
    request: { sessionId: "nobody" },
    error: NO_SESSION,
  },
  {
    rpc: "SessionService.RevertSession",
    what: "to a message",
    given: GIVEN,
    request: { sessionId: "s", upToMessageId: "m1" },
    answer: { session: { ...SESSION, messageCount: "1", reverted: true }, removedCount: "2" },
  },
  {
    rpc: "SessionService.RevertSession",
    what: "to the start",
    given: GIVEN,
    request: { sessionId: "s", toStart: true, expectedRevision: "1" },
    answer: { session: { ...SESSION, messageCount: "0", reverted: true }, removedCount: "3" },
  },
  {
    rpc: "SessionService.RevertSession",
    what: "neither up to a message nor to the start",
    given: GIVEN,
    request: { sessionId: "s" },
    error: { code: "invalid_argument", message: "up_to_message_id or to_start is required" },
  },
  {
    rpc: "SessionService.RevertSession",
    what: "up to a message and to the start",
    given: GIVEN,
    request: { sessionId: "s", upToMessageId: "m1", toStart: true },
    error: { code: "invalid_argument", message: "up_to_message_id and to_start exclude each other" },
  },
  {
    rpc: "SessionService.RevertSession",
    what: "at another revision",
    given: GIVEN,
    request: { sessionId: "s", upToMessageId: "m1", expectedRevision: "9" },
    error: { code: "aborted", message: "expected_revision is 9, but the session's revision is 1" },
  },
  {
    rpc: "SessionService.RevertSession",
    what: "removing another number of messages than expected",
    given: GIVEN,
    request: { sessionId: "s", upToMessageId: "m1", expectedRemovedCount: "1" },
    error: { code: "aborted", message: "expected_removed_count is 1, but 2 messages would be removed" },
  },
  {
    rpc: "SessionService.RevertSession",
    what: "to an unknown message",
    given: GIVEN,
    request: { sessionId: "s", upToMessageId: "nothing" },
    error: NO_MESSAGE,
  },
  {
    rpc: "SessionService.RevertSession",
    what: "an unknown session",
    request: { sessionId: "nobody", upToMessageId: "m1" },
    error: NO_SESSION,
  },
  {
    rpc: "SessionService.UnrevertSession",
    what: "after a revert",
    given: REVERTED,
    request: { sessionId: "s" },
    answer: { session: SESSION, restoredCount: "2" },
  },
  {
    rpc: "SessionService.UnrevertSession",
    what: "nothing",
    given: GIVEN,
    request: { sessionId: "s" },
    error: { code: "failed_precondition", message: 'Session "s" has nothing to unrevert' },
  },
  {
    rpc: "SessionService.UnrevertSession",
    what: "an unknown session",
    request: { sessionId: "nobody" },
    error: NO_SESSION,
  },
  {
    rpc: "SessionService.UndeleteSession",
    what: "after a delete",
    given: DELETED,
    request: { sessionId: "s" },
    answer: SESSION,
  },
  {
    rpc: "SessionService.UndeleteSession",
    what: "again",
    given: [...DELETED, ["SessionService.UndeleteSession", { sessionId: "s" }]],
    request: { sessionId: "s" },
    answer: SESSION,
  },
  {
    rpc: "SessionService.UndeleteSession",
    what: "while another session has the id",
    given: [...DELETED, CREATE],
    request: { sessionId: "s" },
    error: { code: "already_exists", message: 'Session "s" exists already' },
  },
  {
    rpc: "SessionService.UndeleteSession",
    what: "an unknown session",
    request: { sessionId: "nobody" },
    error: NO_SESSION,
  },
  {
    rpc: "SessionService.ListSessions",
    what: "deleted ones",
    given: DELETED,
    request: { deleted: true },
    answer: { sessions: [{ ...BASIC, deleteTime: "$any", purgeTime: "$any" }] },
  },
  {
    rpc: "SessionService.ListSessions",
    what: "deleted ones with a label",
    request: { deleted: true, label: ["a=1"] },
    error: { code: "invalid_argument", message: "deleted and label exclude each other" },
  },
  {
    rpc: "SessionService.CreateTicket",
    what: "to read",
    given: GIVEN,
    request: { sessionId: "s", scope: "read" },
    answer: { ticket: "$any", expireTime: "$any" },
  },
  {
    rpc: "SessionService.CreateTicket",
    what: "of an unknown session",
    request: { sessionId: "nobody", scope: "write" },
    error: NO_SESSION,
  },
  {
    rpc: "SessionService.CreateTicket",
    what: "an unknown scope",
    given: GIVEN,
    request: { sessionId: "s", scope: "admin" },
    error: { code: "invalid_argument", message: 'scope is "admin"; it must be "read" or "write"' },
  },
  {
    rpc: "SessionService.CreateTicket",
    what: "that has ended already",
    given: GIVEN,
    request: { sessionId: "s", scope: "read", expireTime: "2020-01-01T00:00:00Z" },
    error: { code: "invalid_argument", message: "expire_time must be in the future, and at most 30 days ahead" },
  },
  {
    rpc: "SessionService.WatchSessions",
    what: "from now on",
    given: GIVEN,
    request: {},
    events: [{ heartbeat: {}, resumeToken: "$any" }],
  },
  {
    rpc: "SessionService.WatchSessions",
    what: "an invalid token",
    request: { resumeToken: "bogus" },
    error: { code: "invalid_argument", message: "resume_token is not a token that was given out" },
  },
  {
    rpc: "SessionService.WatchSessions",
    what: "owner and no_owner",
    request: { owner: "ada", noOwner: true },
    error: { code: "invalid_argument", message: "owner and no_owner exclude each other" },
  },
  { rpc: "SessionService.RevokeTickets", what: "none", given: GIVEN, request: { sessionId: "s" }, answer: {} },
  {
    rpc: "SessionService.RevokeTickets",
    what: "an unknown session",
    request: { sessionId: "nobody" },
    error: NO_SESSION,
  },
];

function withoutCount({ messageCount: _left, ...rest }: typeof FORK): Json {
  return rest;
}
