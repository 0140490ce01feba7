import type {
  AttachmentService,
  DeleteAttachmentRequest,
  DeleteAttachmentResponse,
  GetAttachmentRequest,
  GetAttachmentResponse,
  ListAttachmentsRequest,
  ListAttachmentsResponse,
  Attachment as ProtoAttachment,
  UploadAttachmentRequest,
} from "../../gen/sessionpool/v1/attachment_service_pb.js";
import type { Attachment, AttachmentContent, ListedAttachment } from "../domain/attachment.js";
import { invalidArgument } from "../domain/errors.js";
import type { ApiContext, ServiceMethods } from "./api-method.js";
import { callOf, exactCount, optionalText } from "./call-options.js";
import { decodeAttachmentToken, encodeAttachmentToken } from "./page-token.js";
import { toTimestamp } from "./timestamps.js";
import { inTurns } from "./transfer-turns.js";

export const attachmentMethods: ServiceMethods<typeof AttachmentService> = {
  uploadAttachment: { scope: "write", ticket: "write", handle: uploadAttachment },
  getAttachment: { scope: "read", ticket: "read", isTransfer: true, handle: getAttachment },
  listAttachments: { scope: "read", ticket: "read", handle: listAttachments },
  deleteAttachment: { scope: "write", ticket: "write", handle: deleteAttachment },
};

async function uploadAttachment(
  first: UploadAttachmentRequest,
  rest: AsyncIterable<UploadAttachmentRequest>,
  context: ApiContext,
): Promise<ProtoAttachment> {
  const { sessionId, attachmentId, name, mediaType, sha256, createSession } = first;
  const size = exactCount("size", first.size);
  const { attachments } = context.rootPool.sessions;
  const given = { attachmentId: optionalText(attachmentId), name, mediaType, size, sha256: optionalText(sha256) };
  const options = { ...callOf(context), createSession };
  return toAttachment(await attachments.upload(sessionId, given, inTurns(chunksOf(first, rest)), options));
}

/** The bytes of all messages. Only the first one says what is uploaded. */
async function* chunksOf(
  first: UploadAttachmentRequest,
  rest: AsyncIterable<UploadAttachmentRequest>,
): AsyncGenerator<Uint8Array> {
  if (first.chunk.length > 0) yield first.chunk;
  for await (const { chunk, sessionId, attachmentId, name, mediaType, size, sha256, createSession } of rest) {
    if (sessionId || attachmentId || name || mediaType || size !== undefined || sha256 || createSession) {
      throw invalidArgument("Only the first message says what is uploaded; the others have only chunk");
    }
    if (chunk.length > 0) yield chunk;
  }
}

async function getAttachment(
  { sessionId, attachmentId, offset, length }: GetAttachmentRequest,
  context: ApiContext,
): Promise<AsyncIterable<GetAttachmentResponse>> {
  const range = { offset: exactCount("offset", offset), length: exactCount("length", length) };
  const { attachments } = context.rootPool.sessions;
  return answersOf(await attachments.get(sessionId, attachmentId, { ...range, ...callOf(context) }));
}

/** The first answer has the attachment, and there is one even without bytes. */
async function* answersOf({ attachment, pieces }: AttachmentContent): AsyncGenerator<GetAttachmentResponse> {
  const $typeName = "sessionpool.v1.GetAttachmentResponse";
  let first: ProtoAttachment | undefined = toAttachment(attachment);
  for await (const chunk of inTurns(pieces)) {
    yield { $typeName, attachment: first, chunk: chunk as Uint8Array<ArrayBuffer> };
    first = undefined;
  }
  if (first !== undefined) yield { $typeName, attachment: first, chunk: new Uint8Array() };
}

async function listAttachments(
  { sessionId, limit, pageToken }: ListAttachmentsRequest,
  context: ApiContext,
): Promise<ListAttachmentsResponse> {
  const cursor = pageToken === "" ? undefined : decodeAttachmentToken(pageToken);
  const page = await context.rootPool.sessions.attachments.list(sessionId, { limit, cursor, ...callOf(context) });
  return {
    $typeName: "sessionpool.v1.ListAttachmentsResponse",
    attachments: page.attachments.map(toAttachment),
    nextPageToken: page.next ? encodeAttachmentToken(page.next) : "",
  };
}

async function deleteAttachment(
  { sessionId, attachmentId }: DeleteAttachmentRequest,
  context: ApiContext,
): Promise<DeleteAttachmentResponse> {
  await context.rootPool.sessions.attachments.delete(sessionId, attachmentId, callOf(context));
  return { $typeName: "sessionpool.v1.DeleteAttachmentResponse" };
}

function toAttachment(attachment: Attachment | ListedAttachment): ProtoAttachment {
  const { attachmentId, mediaType, name, size, sha256, createTimeMicros } = attachment;
  return {
    $typeName: "sessionpool.v1.Attachment",
    ...{ attachmentId, mediaType, name, sha256 },
    size: BigInt(size),
    createTime: toTimestamp(createTimeMicros),
    messageIds: "messageIds" in attachment ? [...attachment.messageIds] : [],
  };
}
