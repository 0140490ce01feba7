import type { Json, Row } from "./row.js";
import { answered, GIVEN, message, NO_SESSION } from "./session-rows.js";

const PARTS: readonly Json[] = [
  { id: "p1", type: "text", text: "Grüße\u0000 👋 \u2028" },
  { id: "p2", type: "tool_result", data: { list: [null, true, "x", { deep: [] }] } },
];
const AHEAD = "2200-01-01T00:00:00Z";
const LARGE = { info: { id: "m9", role: "user" }, parts: [{ type: "text", text: "x".repeat(3 * 1024 * 1024) }] };

export const MESSAGE_EDIT_ROWS: readonly Row[] = [
  {
    rpc: "MessageService.UpdateMessage",
    what: "the fields that are set",
    given: GIVEN,
    request: { sessionId: "s", messageId: "m2", message: { parts: [...PARTS] }, expectedRevision: "1" },
    answer: { ...answered("m2", 2, 1), parts: [...PARTS] },
  },
  {
    rpc: "MessageService.UpdateMessage",
    what: "the fields of a mask, and not the others",
    given: GIVEN,
    request: {
      sessionId: "s",
      messageId: "m2",
      message: { info: { id: "m2", role: "tool", metadata: { n: 1 }, timestamp: AHEAD } },
      updateMask: "parts,info.metadata",
    },
    answer: { info: { ...(answered("m2", 2, 1).info as Json), metadata: { n: 1 } } },
  },
  {
    rpc: "MessageService.UpdateMessage",
    what: "only the usage",
    given: GIVEN,
    request: {
      sessionId: "s",
      messageId: "m2",
      message: { info: { usage: { model: "m", inputTokens: "3" } } },
      updateMask: "info.usage",
    },
    answer: {
      ...answered("m2", 2, 1),
      info: { ...(answered("m2", 2, 1).info as Json), usage: { model: "m", inputTokens: "3" } },
    },
  },
  {
    rpc: "MessageService.UpdateMessage",
    what: "the content that the message already has",
    given: GIVEN,
    request: { sessionId: "s", messageId: "m2", message: message("m2", 2) },
    answer: answered("m2", 2, 1),
  },
  {
    rpc: "MessageService.UpdateMessage",
    what: "a message over its limit",
    given: GIVEN,
    request: { sessionId: "s", messageId: "m9", message: LARGE },
    error: { code: "invalid_argument", message: "message is 3145752 bytes; at most 3145728 are allowed" },
  },
  {
    rpc: "MessageService.UpdateMessage",
    what: "no message",
    given: GIVEN,
    request: { sessionId: "s", messageId: "m2" },
    error: { code: "invalid_argument", message: "message is required" },
  },
  {
    rpc: "MessageService.UpdateMessage",
    what: "another id",
    given: GIVEN,
    request: { sessionId: "s", messageId: "m2", message: message("m3", 3) },
    error: {
      code: "invalid_argument",
      message: 'message.info.id is "m3"; it must be that of the message, or empty',
    },
  },
  {
    rpc: "MessageService.UpdateMessage",
    what: "another timestamp",
    given: GIVEN,
    request: { sessionId: "s", messageId: "m2", message: message("m2", 3) },
    error: {
      code: "invalid_argument",
      message: "message.info.timestamp is not the message's own; a message keeps its time",
    },
  },
  {
    rpc: "MessageService.UpdateMessage",
    what: "an unknown field",
    given: GIVEN,
    request: { sessionId: "s", messageId: "m2", message: message("m2", 2), updateMask: "info.timestamp" },
    error: {
      code: "invalid_argument",
      message: 'update_mask names "info.timestamp"; it may name parts, info.metadata, info.role, info.usage',
    },
  },
  {
    rpc: "MessageService.UpdateMessage",
    what: "an empty role",
    given: GIVEN,
    request: { sessionId: "s", messageId: "m2", message: {}, updateMask: "info.role" },
    error: { code: "invalid_argument", message: "message.info.role is required" },
  },
  {
    rpc: "MessageService.UpdateMessage",
    what: "a part without a type",
    given: GIVEN,
    request: { sessionId: "s", messageId: "m2", message: { parts: [{ text: "x" }] } },
    error: { code: "invalid_argument", message: "message.parts[0].type is required" },
  },
  {
    rpc: "MessageService.UpdateMessage",
    what: "at another revision",
    given: GIVEN,
    request: { sessionId: "s", messageId: "m2", message: { info: { role: "tool" } }, expectedRevision: "9" },
    error: { code: "aborted", message: "expected_revision is 9, but the session's revision is 1" },
  },
  {
    rpc: "MessageService.UpdateMessage",
    what: "an unknown message",
    given: GIVEN,
    request: { sessionId: "s", messageId: "nothing", message: { info: { role: "tool" } } },
    error: { code: "not_found", message: 'Message "nothing" not found' },
  },
  {
    rpc: "MessageService.UpdateMessage",
    what: "an unknown session",
    request: { sessionId: "nobody", messageId: "m1", message: { info: { role: "tool" } } },
    error: NO_SESSION,
  },
  {
    rpc: "MessageService.DeleteMessage",
    what: "a message",
    given: GIVEN,
    request: { sessionId: "s", messageId: "m2", expectedRevision: "1" },
    answer: {},
  },
  {
    rpc: "MessageService.DeleteMessage",
    what: "a message that is gone",
    given: [...GIVEN, ["MessageService.DeleteMessage", { sessionId: "s", messageId: "m2" }]],
    request: { sessionId: "s", messageId: "m2" },
    error: { code: "not_found", message: 'Message "m2" not found' },
  },
  {
    rpc: "MessageService.DeleteMessage",
    what: "at another revision",
    given: GIVEN,
    request: { sessionId: "s", messageId: "m2", expectedRevision: "9" },
    error: { code: "aborted", message: "expected_revision is 9, but the session's revision is 1" },
  },
  {
    rpc: "MessageService.DeleteMessage",
    what: "an unknown session",
    request: { sessionId: "nobody", messageId: "m1" },
    error: NO_SESSION,
  },
  {
    rpc: "MessageService.ListMessages",
    what: "all, after an update and a delete",
    given: [
      ...GIVEN,
      ["MessageService.UpdateMessage", { sessionId: "s", messageId: "m3", message: { parts: [...PARTS] } }],
      ["MessageService.DeleteMessage", { sessionId: "s", messageId: "m1" }],
    ],
    request: { sessionId: "s" },
    answer: { messages: [answered("m2", 2, 0), { ...answered("m3", 3, 1), parts: [...PARTS] }] },
  },
];
