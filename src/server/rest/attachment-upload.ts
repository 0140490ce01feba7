import type { Message } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import type { UploadAttachmentRequest } from "../../../gen/sessionpool/v1/attachment_service_pb.js";
import { FieldError } from "../../api/api-error.js";
import type { ApiMethod } from "../../api/method-table.js";
import { messageReader } from "../../codec/json-reader.js";
import type { ServerLimits } from "../../config/config.js";
import type { CallPipeline, FrontCall } from "../call/front-call.js";
import { BodyChunks } from "../http/body-chunks.js";
import type { HttpRequest } from "../http/exchange.js";
import { HttpProblem, problemOf } from "../http/problem.js";
import { header } from "../http/respond.js";
import { transferBytes } from "../limits/admissions.js";
import { bodyTooLarge } from "../limits/body-errors.js";
import { digestOf } from "./content-digest.js";

export interface UploadOptions {
  readonly serverLimits: ServerLimits;
  /** The most bytes of an attachment. */
  readonly attachmentBytes: number;
}

/**
 * Stores the body of a request as an attachment; resolves to the answer. Refuses what the headers show to be wrong
 * before anything of the body is read.
 */
export type Upload = (request: HttpRequest, first: Message, call: FrontCall) => Promise<Message>;

export function makeUpload(method: ApiMethod, pipeline: CallPipeline, options: UploadOptions): Upload {
  const { serverLimits, attachmentBytes } = options;
  const newMessage = messageReader(method.desc.input) as (json: unknown) => UploadAttachmentRequest;

  /** The bytes as messages. More than the limit end them, whatever the service would make of them. */
  async function* messagesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<UploadAttachmentRequest> {
    let size = 0;
    for await (const chunk of chunks) {
      size += chunk.length;
      if (size > attachmentBytes) throw tooLarge(attachmentBytes);
      const message = newMessage({});
      message.chunk = chunk as Uint8Array<ArrayBuffer>;
      yield message;
    }
  }

  return async (request, message, call) => {
    const first = message as UploadAttachmentRequest;
    readHeaders(request, first, attachmentBytes);
    call.admission.hold(transferBytes(first.size));
    const chunks = new BodyChunks(request, serverLimits, call.admission);
    try {
      return await pipeline.upload(method, first, messagesOf(chunks), call);
    } finally {
      await chunks.return();
    }
  };
}

/** Adds what the headers say of the upload to what its query says. */
function readHeaders(request: HttpRequest, first: UploadAttachmentRequest, attachmentBytes: number): void {
  const encoding = header(request, "content-encoding")?.trim() || "identity";
  if (encoding.toLowerCase() !== "identity") {
    const text = `Content-Encoding must be identity, because the bytes are stored as they are; it is ${JSON.stringify(encoding)}`;
    throw new HttpProblem(Code.InvalidArgument, text, { status: 415, headers: { "accept-encoding": "identity" } });
  }
  const length = header(request, "content-length");
  if (Number(length) > attachmentBytes) throw tooLarge(attachmentBytes);
  first.mediaType = agreed("media_type", first.mediaType, header(request, "content-type")?.trim() || first.mediaType);
  first.sha256 = agreed("sha256", first.sha256.toLowerCase(), digestOf(request) ?? first.sha256.toLowerCase());
  if (length !== undefined) first.size = agreed("size", first.size ?? BigInt(length), BigInt(length));
}

/** What the headers say, unless the query says something else. */
function agreed<T>(name: string, inQuery: T, inHeaders: T): T {
  if (inQuery !== inHeaders && inQuery !== "") throw new FieldError(name, "a header says otherwise");
  return inHeaders;
}

function tooLarge(limitBytes: number): HttpProblem {
  return problemOf(bodyTooLarge(limitBytes), 413);
}
