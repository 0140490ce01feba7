import type { Call, Json, Row } from "./row.js";
import { GIVEN, message, NO_SESSION } from "./session-rows.js";

const USAGE = { model: "m", provider: "p", inputTokens: "3", cost: "0.10", currency: "USD", duration: "1.500s" };

function used(sessionId: string, id: string, second: number, usage: Json): Call {
  const { info, parts } = message(id, second) as { readonly info: object; readonly parts: Json };
  return ["MessageService.AppendMessage", { sessionId, message: { info: { ...info, usage }, parts } as Json }];
}

/** A message with usage in `s`, and in a session of an owner and a label one that calls a tool. */
const USED: readonly Call[] = [
  ...GIVEN,
  used("s", "u1", 4, USAGE),
  ["SessionService.CreateSession", { sessionId: "t", labels: { "a,b": "x" }, owner: "ada" }],
  used("t", "u2", 5, { model: "n", outputTokens: "2" }),
  [
    "MessageService.AppendMessage",
    {
      sessionId: "t",
      message: {
        info: { id: "c", role: "tool", timestamp: "2026-01-01T10:00:06Z" },
        parts: [{ type: "tool", data: { callID: "1", tool: "bash", state: { status: "error", error: "no" } } }],
      },
    },
  ],
];

const OF_S = {
  calls: "1",
  inputTokens: "3",
  costs: [{ currency: "USD", amount: "0.1" }],
  duration: "1.500s",
  durationP50: "1.500s",
  durationP95: "1.500s",
};
const OF_T = { calls: "1", outputTokens: "2", duration: "0s" };

function refused(what: string, request: Json, text: string): Row {
  return { rpc: "UsageService.SumUsage", what, request, error: { code: "invalid_argument", message: text } };
}

export const USAGE_ROWS: readonly Row[] = [
  {
    rpc: "UsageService.SumUsage",
    what: "sums by day and model",
    given: USED,
    request: { groupBy: "day,model", timeZone: "Asia/Tokyo" },
    answer: {
      rows: [
        { day: "2026-01-01", model: "m", ...OF_S },
        { day: "2026-01-01", model: "n", ...OF_T },
      ],
      progress: 1,
    },
  },
  {
    rpc: "UsageService.SumUsage",
    what: "sums by what sessions have",
    given: USED,
    request: { groupBy: 'label:"a,b",owner,session,provider' },
    answer: {
      rows: [
        { owner: "", sessionId: "s", provider: "p", ...OF_S },
        { labels: { "a,b": "x" }, owner: "ada", sessionId: "t", provider: "", ...OF_T },
      ],
      progress: 1,
    },
  },
  {
    rpc: "UsageService.SumUsage",
    what: "sums of some messages",
    given: USED,
    request: { model: "n", owner: "ada", label: ["a,b=x"], sessionId: "t", since: "2026-01-01T10:00:05Z" },
    answer: { rows: [OF_T], progress: 1 },
  },
  {
    rpc: "UsageService.SumUsage",
    what: "calls of tools",
    given: USED,
    request: { groupBy: "tool" },
    answer: { rows: [{ tool: "bash", calls: "1", failedCalls: "1", duration: "0s" }], progress: 1 },
  },
  {
    rpc: "UsageService.SumUsage",
    what: "a first page of several",
    given: USED,
    request: { groupBy: "session", limit: 1 },
    answer: { rows: [{ sessionId: "s", ...OF_S }], nextPageToken: "$any", progress: 1 },
  },
  {
    rpc: "UsageService.SumUsage",
    what: "nothing",
    given: GIVEN,
    request: { noOwner: true, until: "2026-01-01T00:00:00Z" },
    answer: { progress: 1 },
  },
  {
    rpc: "UsageService.SumUsage",
    what: "an unknown session",
    request: { sessionId: "nobody" },
    error: NO_SESSION,
  },
  refused(
    "an unknown name",
    { groupBy: "days" },
    'group_by names "days"; day, model, provider, owner, session, tool and label:KEY are known',
  ),
  refused("a name twice", { groupBy: "day,day" }, "group_by names day twice"),
  refused(
    "an unknown time zone",
    { timeZone: "Mars" },
    'time_zone is "Mars"; it must be a name of the IANA database, such as Europe/Berlin',
  ),
  refused(
    "a time that ends before it begins",
    { since: "2026-01-02T00:00:00Z", until: "2026-01-01T00:00:00Z" },
    "since is after until",
  ),
  refused("an owner and none", { owner: "ada", noOwner: true }, "owner and no_owner exclude each other"),
  refused("a limit of 0", { limit: 0 }, "limit is 0; it must be a whole number of at least 1"),
  refused("a label without a value", { label: ["k"] }, 'label[0] is "k"; it must be key=value'),
  refused("an invalid token", { pageToken: "x" }, "page_token is not a token that was given out"),
];
