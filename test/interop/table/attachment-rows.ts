import type { Call, Json, Row } from "./row.js";
import { GIVEN, NO_SESSION } from "./session-rows.js";

const UPLOAD: Json = { sessionId: "s", attachmentId: "a", name: "a.txt", mediaType: "text/plain", chunk: "RsOkaHJl" };
const FACTS: Json = {
  attachmentId: "a",
  name: "a.txt",
  mediaType: "text/plain",
  size: "6",
  sha256: "7c9fefabac20bda2b910e06da63caf4e214e8ed8e090df10fd6bc940eb0987ab",
};
const ATTACHMENT: Json = { ...FACTS, createTime: "$any" };
const UPLOADED: readonly Call[] = [...GIVEN, ["AttachmentService.UploadAttachment", UPLOAD]];
const NAMED: readonly Call[] = [
  ...UPLOADED,
  [
    "MessageService.AppendMessage",
    {
      sessionId: "s",
      message: { info: { id: "m4", role: "user" }, parts: [{ type: "file", attachment: { attachmentId: "a" } }] },
    },
  ],
];
const A: Json = { sessionId: "s", attachmentId: "a" };
const NO_ATTACHMENT = { code: "not_found" } as const;

export const ATTACHMENT_ROWS: readonly Row[] = [
  {
    rpc: "AttachmentService.UploadAttachment",
    what: "bytes with a name and a type",
    given: GIVEN,
    request: UPLOAD,
    answer: ATTACHMENT,
  },
  {
    rpc: "AttachmentService.UploadAttachment",
    what: "the same again",
    given: NAMED,
    request: { ...UPLOAD, sha256: FACTS.sha256!, size: "6" },
    answer: ATTACHMENT,
  },
  {
    rpc: "AttachmentService.UploadAttachment",
    what: "no bytes, into a session that it makes",
    request: { sessionId: "nobody", createSession: true, mediaType: "application/octet-stream" },
    answer: {
      attachmentId: "$any",
      mediaType: "application/octet-stream",
      sha256: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
      createTime: "$any",
    },
  },
  {
    rpc: "AttachmentService.UploadAttachment",
    what: "other bytes under the same id",
    given: UPLOADED,
    request: { ...UPLOAD, chunk: "AAAA" },
    error: { code: "already_exists", message: 'Session "s" has another attachment "a"' },
  },
  {
    rpc: "AttachmentService.UploadAttachment",
    what: "other bytes than it says",
    given: GIVEN,
    request: { ...UPLOAD, sha256: "0".repeat(64) },
    error: {
      code: "invalid_argument",
      message:
        "The SHA-256 of what arrived is 7c9fefabac20bda2b910e06da63caf4e214e8ed8e090df10fd6bc940eb0987ab, not 0000000000000000000000000000000000000000000000000000000000000000",
    },
  },
  {
    rpc: "AttachmentService.UploadAttachment",
    what: "no session",
    request: { ...UPLOAD, sessionId: "nobody" },
    error: NO_SESSION,
  },
  {
    rpc: "AttachmentService.GetAttachment",
    what: "one that a message names",
    given: NAMED,
    request: A,
    events: [{ attachment: ATTACHMENT, chunk: UPLOAD.chunk! }],
  },
  {
    rpc: "AttachmentService.GetAttachment",
    what: "some of its bytes, while nothing names it",
    given: UPLOADED,
    request: { ...A, offset: "1", length: "3" },
    events: [{ attachment: ATTACHMENT, chunk: "w6Ro" }],
  },
  {
    rpc: "AttachmentService.GetAttachment",
    what: "bytes after its end",
    given: UPLOADED,
    request: { ...A, offset: "6" },
    error: { code: "out_of_range" },
  },
  { rpc: "AttachmentService.GetAttachment", what: "an unknown one", given: GIVEN, request: A, error: NO_ATTACHMENT },
  {
    rpc: "AttachmentService.ListAttachments",
    what: "with the messages that name it",
    given: NAMED,
    request: { sessionId: "s", limit: 1 },
    answer: { attachments: [{ ...ATTACHMENT, messageIds: ["m4"] }] },
  },
  {
    rpc: "AttachmentService.ListAttachments",
    what: "none that nothing names",
    given: UPLOADED,
    request: { sessionId: "s" },
    answer: {},
  },
  {
    rpc: "AttachmentService.ListAttachments",
    what: "no session",
    request: { sessionId: "nobody" },
    error: NO_SESSION,
  },
  {
    rpc: "AttachmentService.DeleteAttachment",
    what: "one that nothing names",
    given: UPLOADED,
    request: A,
    answer: {},
  },
  {
    rpc: "AttachmentService.DeleteAttachment",
    what: "one that a message names",
    given: NAMED,
    request: A,
    error: {
      code: "failed_precondition",
      message: 'Messages or drafts name attachment "a"; it is kept as long as they are stored',
    },
  },
  { rpc: "AttachmentService.DeleteAttachment", what: "an unknown one", given: GIVEN, request: A, error: NO_ATTACHMENT },
];
