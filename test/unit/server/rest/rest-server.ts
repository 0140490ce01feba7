import { createServer, request as httpRequest, type IncomingHttpHeaders, type Server } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server, type Http2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import type { DescMessage, Message, MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import type { ApiError } from "../../../../src/api/api-error.js";
import { API_METHODS, type ApiMethod } from "../../../../src/api/method-table.js";
import { DEFAULT_SERVER_LIMITS, type ServerLimits } from "../../../../src/config/config.js";
import type { Arrival, CallPipeline, FrontCall } from "../../../../src/server/call/front-call.js";
import { type Admission, type AdmissionKind, Admissions } from "../../../../src/server/limits/admissions.js";
import { createRestHandler, type RestOptions } from "../../../../src/server/rest/handler.js";

/** The table of methods without implementations: the fake pipeline answers. */
export const METHODS: readonly ApiMethod[] = API_METHODS.map(({ desc, grpcOnly }) => ({
  ...{ desc, grpcOnly, isAudited: false },
  ...{ scope: "write", ticket: "none" },
}));

export interface SeenCall {
  readonly method: string;
  readonly request: Message & Record<string, unknown>;
  readonly call: FrontCall;
}

/** Gives every call the same answer, and records the calls. */
export class FakePipeline implements CallPipeline {
  readonly calls: SeenCall[] = [];
  /** The messages of uploads after their first ones. */
  readonly rest: Message[] = [];
  readonly #admissions: Admissions;
  /** The error that the next calls end with. */
  error: unknown;
  refusedKey: ApiError | undefined;
  answer: (method: ApiMethod, request: Message, call: FrontCall) => Promise<Message>;
  events: (request: Message, call: FrontCall) => AsyncIterable<Message> = async function* () {};

  constructor(limits: Partial<ServerLimits> = {}) {
    this.#admissions = new Admissions({ ...DEFAULT_SERVER_LIMITS, ...limits }, { perKey: false });
    this.answer = async ({ desc }) => create(desc.output);
  }

  refused(): void {}

  async authenticate(): Promise<FrontCall["principal"]> {
    if (this.refusedKey) throw this.refusedKey;
    return { name: "test", namespace: "default", scope: "admin" };
  }

  admit(_method: ApiMethod, { principal }: Arrival): Admission {
    return this.#admissions.admit("call", principal, undefined);
  }

  admitAnyone(kind: AdmissionKind): Admission {
    return this.#admissions.admit(kind, undefined, undefined);
  }

  async unary(method: ApiMethod, request: Message, call: FrontCall): Promise<Message> {
    this.#note(method, request, call);
    return this.answer(method, request, call);
  }

  async stream(method: ApiMethod, request: Message, call: FrontCall): Promise<AsyncIterable<Message>> {
    this.#note(method, request, call);
    return this.events(request, call);
  }

  /** The first message is noted as the request. */
  async upload(method: ApiMethod, first: Message, rest: AsyncIterable<Message>, call: FrontCall): Promise<Message> {
    this.#note(method, first, call);
    for await (const message of rest) this.rest.push(message);
    return this.answer(method, first, call);
  }

  answerWith<D extends DescMessage>(desc: D, init: MessageInitShape<D>): void {
    this.answer = async () => create(desc, init) as Message;
  }

  get last(): SeenCall {
    const call = this.calls.at(-1);
    if (!call) throw new Error("No method was called");
    return call;
  }

  #note(method: ApiMethod, request: Message, call: FrontCall): void {
    this.calls.push({ method: method.desc.name, request: request as SeenCall["request"], call });
    if (this.error !== undefined) throw this.error;
  }
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The parsed body; undefined when it is not uncompressed JSON. */
  readonly json: unknown;
}

export interface RequestOptions {
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer | undefined;
}

/** A REST front on a port of its own, over HTTP/1 or HTTP/2. */
export class RestServer {
  readonly pipeline = new FakePipeline();
  /** The errors that `onUnexpected` received. */
  readonly unexpected: unknown[] = [];
  readonly #server: Server | Http2Server;

  private constructor(options: Partial<RestOptions>, http2: boolean) {
    const handler = createRestHandler({
      methods: METHODS,
      pipeline: this.pipeline,
      onUnexpected: (error) => this.unexpected.push(error),
      ...options,
    });
    this.#server = http2 ? createHttp2Server(handler) : createServer(handler);
  }

  static async start(options: Partial<RestOptions> & { readonly http2?: boolean } = {}): Promise<RestServer> {
    const { http2 = false, ...rest } = options;
    const server = new RestServer(rest, http2);
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      if ("closeAllConnections" in this.#server) this.#server.closeAllConnections();
    });
  }

  /** Sends a request over HTTP/1, with the path as it is. */
  request(method: string, path: string, { headers = {}, body }: RequestOptions = {}): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const options = { port: this.port, host: "127.0.0.1", method, path, headers, agent: false };
      const outgoing = httpRequest(options, (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
        incoming.on("error", reject);
        incoming.on("end", () => resolve(toAnswer(incoming.statusCode ?? 0, incoming.headers, Buffer.concat(chunks))));
      });
      outgoing.on("error", reject);
      outgoing.end(body);
    });
  }

  json(method: string, path: string, value: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.request(method, path, {
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(value),
    });
  }

  /** Sends a request over HTTP/2, with the path as it is. */
  request2(method: string, path: string, { headers = {}, body }: RequestOptions = {}): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const session = connectHttp2(`http://127.0.0.1:${this.port}`);
      session.on("error", reject);
      const stream = session.request(
        { ":method": method, ":path": path, ...headers },
        { endStream: body === undefined },
      );
      const chunks: Buffer[] = [];
      let answered: IncomingHttpHeaders & { ":status"?: number } = {};
      stream.on("response", (received) => {
        answered = received as typeof answered;
      });
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("error", reject);
      stream.on("close", () => {
        session.close();
        resolve(toAnswer(answered[":status"] ?? 0, answered, Buffer.concat(chunks)));
      });
      if (body !== undefined) stream.end(body);
    });
  }
}

function toAnswer(status: number, headers: IncomingHttpHeaders, body: Buffer): Answer {
  const isJson = headers["content-type"] === "application/json" && !headers["content-encoding"] && body.length > 0;
  return { status, headers, body, json: isJson ? JSON.parse(body.toString()) : undefined };
}
