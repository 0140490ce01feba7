import type { Call, Json, Row } from "./row.js";
import { answeredDraft, DRAFTED, GIVEN, NO_SESSION } from "./session-rows.js";

const MESSAGE: Json = {
  info: { id: "d", role: "assistant" },
  parts: [{ id: "p", type: "text", text: "Grüße\u0000 👋" }],
};
const TOOL: Json = { id: "t", type: "tool_call", data: { $set: { "": null }, list: [1e300, true] } };
const DELTAS: Json[] = [
  { appendText: { partId: "p", text: " 都" } },
  { putPart: { part: TOOL } },
  { appendText: { partId: "q", text: "new" } },
];
const FINISHED: readonly Call[] = [
  ...DRAFTED,
  ["MessageService.FinishDraft", { sessionId: "s", messageId: "d", version: "2", metadata: { b: 2 } }],
];
const DISCARDED: readonly Call[] = [...DRAFTED, ["MessageService.DiscardDraft", { sessionId: "s", messageId: "d" }]];
const FULL: readonly Call[] = [
  ...GIVEN,
  ...Array.from(
    { length: 16 },
    (_, i): Call => [
      "MessageService.StartDraft",
      { sessionId: "s", message: { info: { id: `d${i}`, role: "assistant" } } },
    ],
  ),
];
const NO_DRAFT = { code: "not_found", message: 'Draft "nothing" not found' } as const;

export const DRAFT_ROWS: readonly Row[] = [
  {
    rpc: "MessageService.StartDraft",
    what: "a message that begins with parts",
    given: GIVEN,
    request: { sessionId: "s", message: MESSAGE, discardWhenAbandoned: true },
    answer: { messageId: "d", version: "1" },
  },
  {
    rpc: "MessageService.StartDraft",
    what: "in a session that it makes",
    request: { sessionId: "nobody", message: MESSAGE, createSession: true },
    answer: { messageId: "d", version: "1" },
  },
  {
    rpc: "MessageService.StartDraft",
    what: "the id of a message in the history",
    given: GIVEN,
    request: { sessionId: "s", message: { info: { id: "m1", role: "user" } } },
    error: { code: "already_exists", message: 'Message "m1" of session "s" exists' },
  },
  {
    rpc: "MessageService.StartDraft",
    what: "a draft with other content",
    given: DRAFTED,
    request: { sessionId: "s", message: MESSAGE },
    error: { code: "already_exists", message: 'Message "d" of session "s" is a draft with other content' },
  },
  {
    rpc: "MessageService.StartDraft",
    what: "a draft that has ended",
    given: FINISHED,
    request: { sessionId: "s", message: MESSAGE },
    error: { code: "failed_precondition", message: 'Draft "d" is finished' },
  },
  {
    rpc: "MessageService.StartDraft",
    what: "one draft too many",
    given: FULL,
    request: { sessionId: "s", message: MESSAGE },
    error: { code: "resource_exhausted", message: 'Session "s" has 16 open drafts; at most 16 are allowed' },
  },
  {
    rpc: "MessageService.StartDraft",
    what: "no message",
    given: GIVEN,
    request: { sessionId: "s" },
    error: { code: "invalid_argument", message: "message is required" },
  },
  {
    rpc: "MessageService.StartDraft",
    what: "an unknown session",
    request: { sessionId: "nobody", message: MESSAGE },
    error: NO_SESSION,
  },
  {
    rpc: "MessageService.ExtendDraft",
    what: "text and parts",
    given: DRAFTED,
    request: { sessionId: "s", messageId: "d", version: "2", deltas: DELTAS },
    answer: { version: "3" },
  },
  {
    rpc: "MessageService.ExtendDraft",
    what: "again",
    given: DRAFTED,
    request: { sessionId: "s", messageId: "d", version: "1", deltas: [{ appendText: { partId: "p", text: "京" } }] },
    answer: { version: "2" },
  },
  {
    rpc: "MessageService.ExtendDraft",
    what: "another version",
    given: DRAFTED,
    request: { sessionId: "s", messageId: "d", version: "9", deltas: DELTAS },
    error: { code: "aborted", message: 'version is 9, but draft "d" has version 2' },
  },
  {
    rpc: "MessageService.ExtendDraft",
    what: "a draft that was discarded",
    given: DISCARDED,
    request: { sessionId: "s", messageId: "d", version: "2", deltas: DELTAS },
    error: { code: "failed_precondition", message: 'Draft "d" is discarded' },
  },
  {
    rpc: "MessageService.ExtendDraft",
    what: "no delta, which renews it",
    given: DRAFTED,
    request: { sessionId: "s", messageId: "d", version: "2" },
    answer: { version: "3" },
  },
  {
    rpc: "MessageService.ExtendDraft",
    what: "an empty delta",
    given: DRAFTED,
    request: { sessionId: "s", messageId: "d", version: "2", deltas: [...DELTAS, {}] },
    error: { code: "invalid_argument", message: "deltas[3] is empty: append_text or put_part is required" },
  },
  {
    rpc: "MessageService.ExtendDraft",
    what: "a part without a type",
    given: DRAFTED,
    request: { sessionId: "s", messageId: "d", version: "2", deltas: [{ putPart: { part: { id: "x" } } }] },
    error: { code: "invalid_argument", message: "deltas[0].put_part.part.type is required" },
  },
  {
    rpc: "MessageService.ExtendDraft",
    what: "a missing version",
    given: DRAFTED,
    request: { sessionId: "s", messageId: "d", deltas: DELTAS },
    error: { code: "invalid_argument", message: "version is 0; it must be a whole number of at least 1" },
  },
  {
    rpc: "MessageService.ExtendDraft",
    what: "more than a message may hold",
    given: DRAFTED,
    request: {
      sessionId: "s",
      messageId: "d",
      version: "2",
      deltas: [{ appendText: { partId: "p", text: "x".repeat(3 * 1024 * 1024) } }],
    },
    error: {
      code: "invalid_argument",
      message: "The message would be 3145784 bytes with these deltas; at most 3145728 are allowed",
    },
  },
  {
    rpc: "MessageService.ExtendDraft",
    what: "an unknown draft",
    given: GIVEN,
    request: { sessionId: "s", messageId: "nothing", version: "1", deltas: DELTAS },
    error: NO_DRAFT,
  },
  {
    rpc: "MessageService.ExtendDraft",
    what: "a draft of an unknown session",
    request: { sessionId: "nobody", messageId: "d", version: "1", deltas: DELTAS },
    error: NO_SESSION,
  },
  {
    rpc: "MessageService.FinishDraft",
    what: "a draft with last deltas",
    given: DRAFTED,
    request: {
      sessionId: "s",
      messageId: "d",
      version: "2",
      deltas: DELTAS,
      metadata: { b: 2 },
      expectedPosition: "3",
    },
    answer: { messageId: "d", position: "3" },
  },
  {
    rpc: "MessageService.FinishDraft",
    what: "again",
    given: FINISHED,
    request: { sessionId: "s", messageId: "d", version: "2", metadata: { b: 2 } },
    answer: { messageId: "d", position: "3" },
  },
  {
    rpc: "MessageService.FinishDraft",
    what: "another position",
    given: DRAFTED,
    request: { sessionId: "s", messageId: "d", version: "2", expectedPosition: "7" },
    error: { code: "aborted", message: "expected_position is 7, but the message would get position 3" },
  },
  {
    rpc: "MessageService.FinishDraft",
    what: "a draft that was finished with other content",
    given: FINISHED,
    request: { sessionId: "s", messageId: "d", version: "2" },
    error: { code: "failed_precondition", message: 'Draft "d" is finished' },
  },
  {
    rpc: "MessageService.FinishDraft",
    what: "an unknown draft",
    given: GIVEN,
    request: { sessionId: "s", messageId: "nothing", version: "1" },
    error: NO_DRAFT,
  },
  {
    rpc: "MessageService.FinishDraft",
    what: "a draft of an unknown session",
    request: { sessionId: "nobody", messageId: "d", version: "1" },
    error: NO_SESSION,
  },
  {
    rpc: "MessageService.DiscardDraft",
    what: "a draft",
    given: DRAFTED,
    request: { sessionId: "s", messageId: "d" },
    answer: {},
  },
  {
    rpc: "MessageService.DiscardDraft",
    what: "a draft that does not exist",
    given: DISCARDED,
    request: { sessionId: "s", messageId: "d" },
    answer: {},
  },
  {
    rpc: "MessageService.DiscardDraft",
    what: "a draft that was finished",
    given: FINISHED,
    request: { sessionId: "s", messageId: "d" },
    error: { code: "failed_precondition", message: 'Draft "d" is finished' },
  },
  {
    rpc: "MessageService.DiscardDraft",
    what: "a draft of an unknown session",
    request: { sessionId: "nobody", messageId: "d" },
    error: NO_SESSION,
  },
  {
    rpc: "MessageService.ListDrafts",
    what: "an open draft",
    given: DRAFTED,
    request: { sessionId: "s" },
    answer: { drafts: [answeredDraft("2", [{ id: "p", type: "text", text: "京" }])] },
  },
  {
    rpc: "MessageService.ListDrafts",
    what: "no draft after it was finished",
    given: FINISHED,
    request: { sessionId: "s" },
    answer: {},
  },
  {
    rpc: "MessageService.ListDrafts",
    what: "an unknown session",
    request: { sessionId: "nobody" },
    error: NO_SESSION,
  },
];
