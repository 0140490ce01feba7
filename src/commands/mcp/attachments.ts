import { create, type Message } from "@bufbuild/protobuf";
import { type McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import { ErrorCode, McpError, type ReadResourceResult, type Resource } from "@modelcontextprotocol/sdk/types.js";
import {
  type Attachment,
  AttachmentService,
  type GetAttachmentResponse,
} from "../../../gen/sessionpool/v1/attachment_service_pb.js";
import { codeName } from "../../api/api-error.js";
import { toApiError } from "../../api/error-mapping.js";
import { API_METHODS, type ApiContext } from "../../api/method-table.js";
import { DomainError } from "../../domain/errors.js";
import { type CallRpc, rpcCaller } from "./call-rpc.js";
import type { Json } from "./cut-document.js";
import { readPage } from "./list-page.js";

const TEMPLATE = "session-pool://session/{session_id}/attachment/{attachment_id}";
/** The most bytes of an attachment that are read, because they take up a model's context. */
const MOST_BYTES = 1024 * 1024;
/** How many attachments are listed, of how many sessions. */
const [LISTED, LISTED_SESSIONS] = [100, 20];
/** Media types of texts that do not begin with `text/`. */
const TEXTUAL = /^(text\/.*|application\/(json|xml|yaml|javascript|[\w.-]+\+(json|xml)))\s*(;.*)?$/i;

/** Offers each attachment as a resource. */
export function addAttachments(server: McpServer, context: ApiContext): void {
  const template = new ResourceTemplate(TEMPLATE, {
    list: ({ signal }) => asMcp(async () => ({ resources: await listed(rpcCaller(context, signal)) })),
  });
  const description = `The bytes of an attachment: a text cut to ${MOST_BYTES} bytes, or anything else of at most as many`;
  server.registerResource("attachment", template, { title: "Attachment", description }, (uri, variables, { signal }) =>
    asMcp(() => {
      const [sessionId, attachmentId] = [variables.session_id, variables.attachment_id].map(idOf);
      return read(uri.href, sessionId as string, attachmentId as string, { ...context, signal });
    }),
  );
}

/** The attachments that one session shows, each with the address of its resource. */
export async function listAttachments(call: CallRpc, request: Json): Promise<Json> {
  const page = await readPage(call, "AttachmentService.ListAttachments", request, "attachments");
  const withUri = (one: Json) => ({ ...one, uri: uriOf(String(request.sessionId), String(one.attachmentId)) });
  return { ...page, attachments: (page.attachments as Json[]).map(withUri) };
}

/** Those of the sessions that were changed last. */
async function listed(call: CallRpc): Promise<Resource[]> {
  const { sessions } = (await call("SessionService.ListSessions", { limit: LISTED_SESSIONS })) as { sessions: Json[] };
  const found: Resource[] = [];
  for (const { sessionId } of sessions) {
    const request = { sessionId, limit: LISTED - found.length } as Json;
    const { attachments } = (await call("AttachmentService.ListAttachments", request)) as { attachments: Json[] };
    for (const { attachmentId, name, mediaType, size } of attachments) {
      const uri = uriOf(String(sessionId), String(attachmentId));
      found.push({ uri, name: String(name || attachmentId), mimeType: String(mediaType), size: Number(size) });
    }
    if (found.length >= LISTED) break;
  }
  return found;
}

async function read(
  uri: string,
  sessionId: string,
  attachmentId: string,
  context: ApiContext,
): Promise<ReadResourceResult> {
  const { desc, stream } = API_METHODS.find((one) => one.desc === AttachmentService.method.getAttachment)!;
  const request = create(desc.input, { sessionId, attachmentId, length: BigInt(MOST_BYTES) } as Record<
    string,
    unknown
  >) as Message;
  const chunks: Uint8Array[] = [];
  let attachment: Attachment | undefined;
  for await (const answer of await stream!(request, context)) {
    const { attachment: first, chunk } = answer as GetAttachmentResponse;
    attachment ??= first;
    chunks.push(chunk);
  }
  const { mediaType, size } = attachment as Attachment;
  const isWhole = size <= MOST_BYTES;
  const bytes = Buffer.concat(chunks);
  const text = TEXTUAL.test(mediaType) ? textOf(bytes, isWhole) : undefined;
  if (text !== undefined) {
    const cut = { "session-pool/cut": `The first ${bytes.length} of ${size} bytes` };
    return { contents: [{ uri, mimeType: mediaType, text, ...(!isWhole && { _meta: cut }) }] };
  }
  if (isWhole) return { contents: [{ uri, mimeType: mediaType, blob: bytes.toString("base64") }] };
  const problem = `Attachment ${JSON.stringify(attachmentId)} has ${size} bytes; at most ${MOST_BYTES} are read`;
  throw new DomainError("resource_exhausted", problem);
}

/** Undefined when the bytes are no UTF-8. A character that the end has cut is left out. */
function textOf(bytes: Uint8Array, isWhole: boolean): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, { stream: !isWhole });
  } catch {
    return undefined;
  }
}

function uriOf(sessionId: string, attachmentId: string): string {
  return `session-pool://session/${encodeURIComponent(sessionId)}/attachment/${encodeURIComponent(attachmentId)}`;
}

function idOf(variable: string | string[] | undefined): string {
  return decodeURIComponent(String(variable));
}

async function asMcp<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    const { code, message } = toApiError(error);
    throw new McpError(ErrorCode.InvalidParams, `${codeName(code)}: ${message}`);
  }
}
