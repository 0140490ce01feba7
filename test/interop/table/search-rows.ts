import type { Call, Json, Row } from "./row.js";
import { GIVEN, message, NO_SESSION } from "./session-rows.js";

/** The session `s`, and one with a label and an owner whose message is newer. */
const SEARCHED: readonly Call[] = [
  ...GIVEN,
  ["SessionService.CreateSession", { sessionId: "t", labels: { k: "a=b&c" }, owner: "ada" }],
  ["MessageService.AppendMessage", { sessionId: "t", message: message("m4", 4) }],
];

function hit(sessionId: string, id: string, second: number, position: number, highlights: readonly Json[]): Json {
  const title = sessionId === "s" ? { sessionTitle: "Fähre" } : {};
  const timestamp = `2026-01-01T10:00:0${second}Z`;
  const place = { messageId: id, role: "user", timestamp, ...(position > 0 && { position: String(position) }) };
  return { sessionId, ...title, ...place, snippet: `${id} 京都`, highlights: [...highlights], ...TEXT };
}

const TEXT = { partIndex: 0, partType: "text", field: "SEARCHED_FIELD_TEXT" };
const KYOTO = [{ start: 3, end: 5 }];

function refused(what: string, request: Json, message: string): Row {
  return { rpc: "MessageService.SearchMessages", what, request, error: { code: "invalid_argument", message } };
}

export const SEARCH_ROWS: readonly Row[] = [
  {
    rpc: "MessageService.SearchMessages",
    what: "a word",
    given: SEARCHED,
    request: { q: "京都" },
    answer: { hits: [hit("t", "m4", 4, 0, KYOTO), ...[3, 2, 1].map((i) => hit("s", `m${i}`, i, i - 1, KYOTO))] },
  },
  {
    rpc: "MessageService.SearchMessages",
    what: "a phrase in one session",
    given: SEARCHED,
    request: { q: '"M2 京都"', sessionId: "s" },
    answer: { hits: [hit("s", "m2", 2, 1, [{ end: 5 }])] },
  },
  {
    rpc: "MessageService.SearchMessages",
    what: "a prefix in sessions with a label",
    given: SEARCHED,
    request: { q: "京*", label: ["k=a=b&c"] },
    answer: { hits: [hit("t", "m4", 4, 0, [{ start: 3, end: 4 }])] },
  },
  {
    rpc: "MessageService.SearchMessages",
    what: "a word in sessions of an owner",
    given: SEARCHED,
    request: { q: "京都", owner: "ada" },
    answer: { hits: [hit("t", "m4", 4, 0, KYOTO)] },
  },
  {
    rpc: "MessageService.SearchMessages",
    what: "a word in sessions without an owner",
    given: SEARCHED,
    request: { q: '"m3 京都"', noOwner: true },
    answer: { hits: [hit("s", "m3", 3, 2, [{ end: 5 }])] },
  },
  {
    rpc: "MessageService.SearchMessages",
    what: "a first page",
    given: SEARCHED,
    request: { q: "京都 m3", limit: 1 },
    answer: { hits: [hit("s", "m3", 3, 2, [{ end: 2 }, ...KYOTO])] },
  },
  {
    rpc: "MessageService.SearchMessages",
    what: "a first page of several",
    given: SEARCHED,
    request: { q: "京都", limit: 1 },
    answer: { hits: [hit("t", "m4", 4, 0, KYOTO)], nextPageToken: "$any" },
  },
  {
    rpc: "MessageService.SearchMessages",
    what: "a word that no message has",
    given: GIVEN,
    request: { q: 'text : "京都" OR scope' },
    answer: {},
  },
  {
    rpc: "MessageService.SearchMessages",
    what: "an unknown session",
    request: { q: "x", sessionId: "nobody" },
    error: NO_SESSION,
  },
  {
    rpc: "MessageService.SearchMessages",
    what: "a word in messages of a role and a time",
    given: SEARCHED,
    request: { q: "京都", role: "user", since: "2026-01-01T10:00:02Z", until: "2026-01-01T10:00:03Z" },
    answer: { hits: [hit("s", "m2", 2, 1, KYOTO)] },
  },
  {
    rpc: "MessageService.SearchMessages",
    what: "a word in messages of a role that none has",
    given: SEARCHED,
    request: { q: "京都", role: "tool" },
    answer: {},
  },
  refused("nothing", {}, "q is required"),
  refused(
    "a time that ends before it begins",
    { q: "x", since: "2026-01-02T00:00:00Z", until: "2026-01-01T00:00:00Z" },
    "since is after until",
  ),
  refused("a text without words", { q: "*** ()" }, "q holds no letter or digit to look for"),
  refused("too long a text", { q: "ä".repeat(129) }, "q is 258 bytes; at most 256 are allowed"),
  refused("too short a prefix", { q: "a ab*" }, "The prefix ab* in q is 2 bytes; at least 3 are required"),
  refused("a limit of 0", { q: "x", limit: 0 }, "limit is 0; it must be a whole number of at least 1"),
  refused("a label without a value", { q: "x", label: ["k"] }, 'label[0] is "k"; it must be key=value'),
  refused("an invalid token", { q: "x", pageToken: "x" }, "page_token is not a token that was given out"),
];
