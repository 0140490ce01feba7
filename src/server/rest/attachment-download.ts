import { constants } from "node:http2";
import type { Message } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import type {
  Attachment,
  GetAttachmentRequest,
  GetAttachmentResponse,
} from "../../../gen/sessionpool/v1/attachment_service_pb.js";
import { ApiError, invalidArgument } from "../../api/api-error.js";
import type { ApiContext, ApiMethod } from "../../api/method-table.js";
import type { CallPipeline, FrontCall } from "../call/front-call.js";
import { type HttpExchange, type HttpRequest, type HttpResponse, isGone } from "../http/exchange.js";
import { abandonUnread, type Headers, header, writeHead } from "../http/respond.js";
import { transferBytes } from "../limits/admissions.js";
import { dispositionOf } from "./content-disposition.js";
import { type Choice, chooseAnswer, contentRange, hasPreconditions, tagOf } from "./preconditions.js";
import { write } from "./stream.js";

/** Which pages may embed an attachment: those of this server alone, or those of any. */
export type ResourcePolicy = "same-origin" | "cross-origin";

export interface DownloadOptions {
  readonly resourcePolicy: ResourcePolicy;
  /** How long the client may read nothing. */
  readonly stalledMs: number;
  readonly onUnexpected: (error: unknown) => void;
}

/** Answers a GET with the bytes of an attachment. Rejects only before the first byte has been sent. */
export type Download = (exchange: HttpExchange, request: Message, call: FrontCall) => Promise<void>;

/** How much a client has to read at a time so as not to count as one that reads nothing. */
const SLICE_BYTES = 64 * 1024;

/** What a caller may embed as if it were its own code. */
const CODE_USES: ReadonlySet<string | undefined> = new Set([
  "audioworklet",
  "paintworklet",
  "script",
  "serviceworker",
  "sharedworker",
  "style",
  "worker",
  "xslt",
]);

/** Opened by itself, an attachment may show itself and nothing else, and run nothing. */
const SANDBOX = "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; sandbox";
/** A browser's player loads sound and films once more, which it may only as a page of this server. It runs nothing. */
const PLAYER_SANDBOX = `${SANDBOX} allow-same-origin`;

/** What one request wants, and what was chosen once the attachment was known. */
interface Wanted {
  readonly request: HttpRequest;
  choice?: { readonly choice: Choice; readonly attachment: Attachment };
}

export function makeDownload(method: ApiMethod, pipeline: CallPipeline, options: DownloadOptions): Download {
  const wanted = new WeakMap<Message, Wanted>();
  const read = method.stream as (request: Message, context: ApiContext) => Promise<AsyncIterable<Message>>;
  /** One call, of which the log, the metrics and the limits know, although it may read twice. */
  const chosen: ApiMethod = {
    ...method,
    stream: async (message, context) => {
      const want = wanted.get(message) as Wanted;
      if (!hasPreconditions(want.request)) return read(message, context);
      const known = await readFacts(read, message, context);
      const attachment = known.attachment as Attachment;
      const choice = chooseAnswer(want.request, attachment);
      want.choice = { choice, attachment };
      if (choice.status === 304 || choice.length === 0 || want.request.method === "HEAD") return only(known);
      const range = { offset: BigInt(choice.offset), length: BigInt(choice.length) };
      return read({ ...message, ...range } as Message, context);
    },
  };
  return async ({ request, response }, message, call) => {
    checkRequest(request, message as GetAttachmentRequest);
    const want: Wanted = { request };
    wanted.set(message, want);
    const answers = (await pipeline.stream(chosen, message, call))[Symbol.asyncIterator]();
    try {
      const { value: first } = (await answers.next()) as IteratorYieldResult<GetAttachmentResponse>;
      const attachment = first.attachment as Attachment;
      if (want.choice !== undefined && want.choice.attachment.sha256 !== attachment.sha256) {
        throw new ApiError(Code.Unavailable, "The attachment was replaced while it was read");
      }
      const choice = want.choice?.choice ?? { status: 200, offset: 0, length: Number(attachment.size) };
      call.admission.hold(transferBytes(choice.length));
      if (isGone(response)) return;
      writeHead(response, choice.status, headersOf(attachment, choice, options.resourcePolicy));
      if (request.method === "HEAD" || choice.length === 0) response.end();
      else await sendBytes(response, first.chunk, answers, choice.length, options);
      abandonUnread(response, options.stalledMs);
    } finally {
      await answers.return?.();
    }
  };
}

function checkRequest(request: HttpRequest, { offset, length }: GetAttachmentRequest): void {
  if (offset !== undefined || length !== undefined) {
    throw invalidArgument("Over HTTP, the header Range says which bytes to return, not offset and length");
  }
  const use = header(request, "sec-fetch-dest");
  if (!CODE_USES.has(use)) return;
  throw new ApiError(Code.PermissionDenied, `An attachment is not served as ${use}: a page must not run it`);
}

/** The first answer, without bytes. */
async function readFacts(
  read: NonNullable<ApiMethod["stream"]>,
  message: Message,
  context: ApiContext,
): Promise<GetAttachmentResponse> {
  const answers = (await read({ ...message, length: 0n } as Message, context))[Symbol.asyncIterator]();
  const { value } = await answers.next();
  await answers.return?.();
  return value as GetAttachmentResponse;
}

async function* only(answer: Message): AsyncGenerator<Message> {
  yield answer;
}

/** Nothing here may be compressed on the way, because a range counts the bytes themselves. */
function headersOf(attachment: Attachment, choice: Choice, resourcePolicy: ResourcePolicy): Headers {
  const { mediaType, name } = attachment;
  const headers: Headers = {
    etag: tagOf(attachment),
    "accept-ranges": "bytes",
    "cache-control": "private, no-cache, no-transform",
    "content-security-policy": /^(audio|video)\//i.test(mediaType) ? PLAYER_SANDBOX : SANDBOX,
    "cross-origin-resource-policy": resourcePolicy,
    "x-content-type-options": "nosniff",
  };
  if (choice.status === 304) return headers;
  return {
    ...headers,
    ...(choice.status === 206 && { "content-range": contentRange(choice, attachment) }),
    "content-type": contentTypeOf(mediaType),
    "content-length": choice.length,
    "content-disposition": dispositionOf(mediaType, name),
  };
}

/** A header is ASCII, but a parameter of a media type, which means nothing to browsers, may have other characters. */
function contentTypeOf(mediaType: string): string {
  return /^[ -~]+$/.test(mediaType) ? mediaType : (mediaType.split(";", 1)[0] as string);
}

/** Never rejects. A client of which the answer is cut off sees that bytes are missing. */
async function sendBytes(
  response: HttpResponse,
  firstChunk: Uint8Array,
  answers: AsyncIterator<Message>,
  length: number,
  { stalledMs, onUnexpected }: DownloadOptions,
): Promise<void> {
  let left = length;
  try {
    for (let chunk = firstChunk; ; ) {
      for (let at = 0; at < chunk.length; at += SLICE_BYTES) {
        if (!(await write(response, chunk.subarray(at, at + SLICE_BYTES), stalledMs))) return;
      }
      left -= chunk.length;
      const next = await answers.next();
      if (next.done) break;
      chunk = (next.value as GetAttachmentResponse).chunk;
    }
    if (left !== 0) throw new Error(`The store returned ${length - left} bytes instead of ${length}`);
    response.end();
  } catch (error) {
    onUnexpected(error);
    cutOff(response);
  }
}

function cutOff(response: HttpResponse): void {
  if ("stream" in response) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  else response.destroy();
}
