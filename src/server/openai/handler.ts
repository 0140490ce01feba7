import { create, type DescMethod, type Message } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { AttachmentService, type GetAttachmentResponse } from "../../../gen/sessionpool/v1/attachment_service_pb.js";
import { ApiError, codeName } from "../../api/api-error.js";
import type { ApiMethod } from "../../api/method-table.js";
import { type ExactValue, parseExactJson, writeExactJson } from "../../codec/exact-json.js";
import { DEFAULT_SERVER_LIMITS } from "../../config/config.js";
import { toByteString } from "../../domain/byte-string.js";
import { CallSignal } from "../call/call-signal.js";
import type { CallPipeline, FrontCall } from "../call/front-call.js";
import { type BodyLimits, checkBodyHeaders, hasBody, readBody } from "../http/body.js";
import type { HttpExchange, HttpRequest, HttpResponse } from "../http/exchange.js";
import { hearErrors } from "../http/listener.js";
import { type HttpProblem, toProblem } from "../http/problem.js";
import { sendJson, sendProblem } from "../http/respond.js";
import { startCall } from "../http/start-call.js";
import type { Admission } from "../limits/admissions.js";
import type { Upload } from "./attach-large.js";
import type { Rpc } from "./conversations.js";
import { ListPlaces } from "./list-places.js";
import { OpenAiProblem } from "./read.js";
import { findRoute, type Operation, readQuery } from "./routes.js";

export interface OpenAiOptions {
  readonly methods: readonly ApiMethod[];
  readonly pipeline: CallPipeline;
  readonly limits?: Partial<BodyLimits>;
  /** Receives errors that are this program's fault. */
  readonly onUnexpected?: (error: unknown) => void;
}

/** Answers a request and returns true; returns false for a request that does not belong to OpenAI's API. */
export type OpenAiHandler = (path: string, request: HttpRequest, response: HttpResponse) => boolean;

/**
 * Serves OpenAI's conversations, so that its clients need only a different base URL. Each step is a call of the API
 * like any other.
 */
export function createOpenAiHandler({
  methods,
  pipeline,
  limits = {},
  onUnexpected = () => {},
}: OpenAiOptions): OpenAiHandler {
  const bodyLimits: BodyLimits = { ...DEFAULT_SERVER_LIMITS, ...limits };
  const calls = new Calls(methods, pipeline);
  const places = new ListPlaces();
  return (path, request, response) => {
    if (!isOurs(path)) return false;
    hearErrors(request, response);
    serve(path, { request, response }, calls, places, bodyLimits).catch((error: unknown) => {
      if (!(error instanceof ApiError)) onUnexpected(error);
      const problem = toProblem(error);
      sendProblem(request, response, problem, problemJson(problem));
    });
    return true;
  };
}

async function serve(
  path: string,
  { request, response }: HttpExchange,
  calls: Calls,
  places: ListPlaces,
  limits: BodyLimits,
) {
  const url = request.url ?? "";
  const route = findRoute(request.method ?? "", path);
  const call = await calls.start(route, { request, response });
  const query = readQuery(url.slice(path.length), route.query);
  const body = await readJson(request, call.admission, limits);
  const { namespace, access } = call.principal;
  const download = (attachmentId: string) => calls.download(call, route.sessionId, attachmentId);
  const upload = (sessionId: string, one: Upload) => calls.upload(call, sessionId, one);
  const caller = { namespace, access };
  const answer = await route.run(calls.rpcOf(call), { ...route, query, body, places, caller, download, upload });
  await sendJson(request, response, toByteString(writeExactJson(answer)), call.admission);
}

async function readJson(
  request: HttpRequest,
  admission: Admission,
  limits: BodyLimits,
): Promise<ExactValue | undefined> {
  if (!hasBody(request)) return undefined;
  checkBodyHeaders(request, limits.bodyBytes);
  const bytes = await readBody(request, limits, admission);
  return bytes.length === 0 ? undefined : parseExactJson(bytes, admission);
}

/** The calls of the API that requests are made of. */
class Calls {
  readonly #methods: ReadonlyMap<DescMethod, ApiMethod>;
  readonly #pipeline: CallPipeline;

  constructor(methods: readonly ApiMethod[], pipeline: CallPipeline) {
    this.#methods = new Map(methods.map((method) => [method.desc, method]));
    this.#pipeline = pipeline;
  }

  /** Authenticates a request and admits it as the operation's first call. */
  start({ admittedAs }: Operation, exchange: HttpExchange): Promise<FrontCall> {
    return startCall("openai", this.#pipeline, this.#methodOf(admittedAs), exchange);
  }

  /**
   * The first call takes the place of the request, and so does one that undoes it; each further call is admitted by
   * itself.
   */
  rpcOf(call: FrontCall): Rpc {
    let isFirst = true;
    return async (desc, init, { isUndo = false } = {}) => {
      const method = this.#methodOf(desc);
      const isOwn = !isFirst && !isUndo;
      const admission = isOwn ? this.#pipeline.admit(method, call) : call.admission;
      isFirst = false;
      try {
        return (await this.#pipeline.unary(method, create(desc.input, init) as Message, {
          ...call,
          admission,
          ...(isUndo && { signal: new CallSignal(), deadlineMs: undefined }),
        })) as never;
      } finally {
        if (isOwn) admission.end();
      }
    };
  }

  /** Reads an attachment, whose bytes count until the request is answered; undefined if there is none. */
  async download(call: FrontCall, sessionId: string, attachmentId: string): Promise<Buffer | undefined> {
    const { getAttachment } = AttachmentService.method;
    const method = this.#methodOf(getAttachment);
    const admission = this.#pipeline.admit(method, call);
    try {
      const request = create(getAttachment.input, { sessionId, attachmentId });
      const chunks: Uint8Array[] = [];
      for await (const message of await this.#pipeline.stream(method, request, { ...call, admission })) {
        const { chunk } = message as GetAttachmentResponse;
        call.admission.hold(chunk.length);
        chunks.push(chunk);
      }
      return Buffer.concat(chunks);
    } catch (error) {
      if (error instanceof ApiError && error.code === Code.NotFound) return undefined;
      throw error;
    } finally {
      admission.end();
    }
  }

  /** Stores an attachment, of which a repetition has the same id. */
  async upload(call: FrontCall, sessionId: string, { bytes, ...facts }: Upload): Promise<void> {
    const { uploadAttachment } = AttachmentService.method;
    const method = this.#methodOf(uploadAttachment);
    const admission = this.#pipeline.admit(method, call);
    try {
      const chunk = bytes as Uint8Array<ArrayBuffer>;
      const first = create(uploadAttachment.input, { sessionId, ...facts, size: BigInt(bytes.length), chunk });
      const nothing = (async function* (): AsyncGenerator<Message> {})();
      await this.#pipeline.upload(method, first, nothing, { ...call, admission });
    } finally {
      admission.end();
    }
  }

  #methodOf(desc: DescMethod): ApiMethod {
    const method = this.#methods.get(desc);
    if (method === undefined) throw new Error(`The table of methods lacks ${desc}`);
    return method;
  }
}

/**
 * Everything below /v1, so that a client which asks for more than conversations gets a clear answer. The todos of a
 * session named v1 are an exception.
 */
function isOurs(path: string): boolean {
  return path.startsWith("/v1/") && path !== "/v1/todo";
}

const TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  429: "rate_limit_error",
};

/** The error body that OpenAI's clients understand. */
function problemJson(problem: HttpProblem): string {
  const { status, message } = problem;
  const type = TYPES[status] ?? (status < 500 ? "invalid_request_error" : "server_error");
  const param = (problem instanceof OpenAiProblem ? problem.param : undefined) ?? null;
  return JSON.stringify({ error: { message, type, param, code: codeName(problem.code) } });
}
