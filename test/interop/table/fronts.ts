import {
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromJson,
  type JsonValue,
  type Message,
  toJson,
} from "@bufbuild/protobuf";
import { ConnectError, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import type { ServiceError } from "@grpc/grpc-js";
import { GrpcClient } from "../../support/grpc-client.js";
import { REST_PATHS } from "./rest-paths.js";
import { ERROR_NAMES, type ErrorName, type Json, type Rpc } from "./row.js";

export interface Addresses {
  readonly grpcAddress: string;
  readonly httpUrl: string;
}

/** What a client of a front sees. */
export type Outcome =
  | { readonly answer: JsonValue }
  | { readonly events: readonly JsonValue[] }
  | { readonly error: { readonly code: ErrorName; readonly message: string } };

export interface Front {
  readonly name: string;
  /** Whether the RPC can be called this way. */
  serves(desc: DescMethod): boolean;
  /** Calls the RPC. For a stream, resolves to its first `take` events and cancels it. */
  call(desc: DescMethod, request: Json, options: { readonly key?: string; readonly take: number }): Promise<Outcome>;
  close(): void;
}

const GRPC_PORT_ONLY = "TodoTrackerService";

export function openFronts(addresses: Addresses): readonly Front[] {
  const { httpUrl } = addresses;
  const http = { baseUrl: httpUrl, httpVersion: "1.1" } as const;
  const json = { ...http, useBinaryFormat: false };
  return [
    grpcJs("grpc-js", addresses.grpcAddress, () => true),
    grpcJs("grpc-js on the HTTP port", new URL(httpUrl).host, isOnHttpPort),
    connectNode("connect-node gRPC", createGrpcTransport({ baseUrl: httpUrl }), isOnHttpPort),
    connectNode("Connect JSON", createConnectTransport(json), isOnHttpPort),
    connectNode("Connect binary", createConnectTransport({ ...http, useBinaryFormat: true }), isOnHttpPort),
    connectNode("Connect GET", createConnectTransport({ ...json, useHttpGet: true }), isReadOnly),
    connectNode("gRPC-Web", createGrpcWebTransport(http), isOnHttpPort),
    connectNode("gRPC-Web JSON", createGrpcWebTransport(json), isOnHttpPort),
    rest(httpUrl),
  ];
}

function isOnHttpPort({ parent }: DescMethod): boolean {
  return parent.name !== GRPC_PORT_ONLY;
}

function isReadOnly(desc: DescMethod): boolean {
  return isOnHttpPort(desc) && desc.methodKind === "unary" && /^(Get|List|Load|Count)/.test(desc.name);
}

function grpcJs(name: string, address: string, serves: Front["serves"]): Front {
  const client = new GrpcClient(address);
  return {
    name,
    serves,
    close: () => client.close(),
    async call(desc, request, { key, take }) {
      const options = key === undefined ? {} : { key };
      if (desc.methodKind === "unary") {
        const outcome = await client.call(desc.parent, desc.name, request, options);
        return "answer" in outcome ? outcome : failure(outcome.code, outcome.message);
      }
      if (desc.methodKind === "client_streaming") {
        const outcome = await client.upload(desc, uploadOf(desc, request), options);
        return "answer" in outcome ? outcome : failure(outcome.code, outcome.message);
      }
      const stream = client.stream(desc.parent, desc.name, request, options);
      // The stream is canceled below, which is reported as an error, too.
      stream.on("error", () => {});
      try {
        return await takeEvents(desc, stream, take);
      } catch (error) {
        const { code, details } = error as ServiceError;
        return failure(code, details);
      } finally {
        stream.cancel();
      }
    },
  };
}

function connectNode(name: string, transport: Transport, serves: Front["serves"]): Front {
  return {
    name,
    serves,
    close: () => {},
    async call(desc, request, { key, take }) {
      const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
      const message = fromJson(desc.input, request);
      const stop = new AbortController();
      try {
        if (desc.methodKind === "unary") {
          const unary = desc as DescMethodUnary;
          const answer = await transport.unary(unary, stop.signal, undefined, headers, message);
          return { answer: toJson(desc.output, answer.message) };
        }
        const isUpload = desc.methodKind === "client_streaming";
        const messages = isUpload ? uploadOf(desc, request) : [message];
        const input = (async function* () {
          yield* messages;
        })();
        const streaming = desc as DescMethodServerStreaming;
        const answer = await transport.stream(streaming, stop.signal, undefined, headers, input);
        const outcome = await takeEvents(desc, answer.message, isUpload ? 2 : take);
        return isUpload && "events" in outcome ? { answer: outcome.events[0] as JsonValue } : outcome;
      } catch (error) {
        const { code, rawMessage } = ConnectError.from(error);
        return failure(code, rawMessage);
      } finally {
        stop.abort();
      }
    },
  };
}

/** The messages of an upload: one that says what is uploaded, and one with the bytes. */
function uploadOf(desc: DescMethod, { chunk, ...first }: Json): Message[] {
  return [first, ...(chunk === undefined ? [] : [{ chunk }])].map((message) => fromJson(desc.input, message));
}

function rest(httpUrl: string): Front {
  return {
    name: "REST",
    serves: isOnHttpPort,
    close: () => {},
    async call(desc, request, { key, take }) {
      const rpc = `${desc.parent.name}.${desc.name}` as Rpc;
      if (rpc === "AttachmentService.GetAttachment") return downloadByRest(httpUrl, request, key);
      const { url, init, responseBody } = restRequest(rpc, request);
      const stop = new AbortController();
      const headers = {
        "content-type": init.body instanceof Uint8Array ? String(request.mediaType ?? "") : "application/json",
        ...(desc.methodKind === "server_streaming" && { accept: "application/x-ndjson" }),
        ...(key && { authorization: `Bearer ${key}` }),
      };
      const response = await fetch(`${httpUrl}${url}`, { ...init, headers, signal: stop.signal });
      try {
        if (!response.ok) return restFailure(await response.json());
        if (desc.methodKind === "server_streaming") return await takeLines(desc, response, take);
        const body = (await response.json()) as JsonValue;
        return { answer: normal(desc, responseBody === undefined ? body : { [responseBody]: body }) };
      } finally {
        stop.abort();
      }
    },
  };
}

function restRequest(rpc: Rpc, request: Json): { url: string; init: RequestInit; responseBody: string | undefined } {
  const call = REST_PATHS[rpc];
  if (call === undefined) throw new Error(`No REST path for ${rpc}`);
  const rest = { ...request };
  const path = call.path.replaceAll(/\{(\w+)\}/g, (_match, field: string) => {
    const value = rest[field] ?? "";
    delete rest[field];
    return encodeURIComponent(String(value));
  });
  let body: JsonValue | undefined;
  if (call.body === "*") body = rest;
  else if (call.body !== undefined) {
    body = rest[call.body];
    delete rest[call.body];
  }
  // The media type is a header.
  const isBytes = call.body === "chunk";
  if (isBytes) delete rest.mediaType;
  const query = new URLSearchParams();
  for (const [field, value] of call.body === "*" ? [] : Object.entries(rest)) {
    for (const one of Array.isArray(value) ? value : [value]) query.append(field, String(one));
  }
  const sent = isBytes ? Buffer.from(String(body ?? ""), "base64") : JSON.stringify(body);
  const init = { method: call.method, ...((isBytes || body !== undefined) && { body: sent }) };
  return { url: query.size > 0 ? `${path}?${query}` : path, init, responseBody: call.responseBody };
}

/** Gets the bytes of an attachment, whose headers say what it is. */
async function downloadByRest(httpUrl: string, request: Json, key: string | undefined): Promise<Outcome> {
  const { offset, length, ...rest } = request;
  const { url } = restRequest("AttachmentService.GetAttachment", rest);
  const end = length === undefined ? "" : Number(offset) + Number(length) - 1;
  const headers = {
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
    ...(offset !== undefined && { range: `bytes=${offset}-${end}` }),
  };
  const response = await fetch(`${httpUrl}${url}`, { headers });
  if (!response.ok) {
    const { code, message } = (await response.json()) as { code: number; message: string };
    // REST names its header.
    return failure(code, message.replace(/^Range is "bytes=(\d+)-"/, "offset is $1"));
  }
  const bytes = Buffer.from(await response.arrayBuffer());
  const named = (name: string) => response.headers.get(name) ?? "";
  const attachment = {
    attachmentId: String(request.attachmentId),
    mediaType: named("content-type"),
    name: /filename="(.*?)"/.exec(named("content-disposition"))?.[1] ?? "",
    size: /\/(\d+)$/.exec(named("content-range"))?.[1] ?? named("content-length"),
    sha256: named("etag").replaceAll('"', ""),
    createTime: "not told",
  };
  return { events: [{ attachment, ...(bytes.length > 0 && { chunk: bytes.toString("base64") }) }] };
}

/** Reads the first `take` events of a REST stream. Each line is `{"result": …}`, or `{"error": …}` at the end. */
async function takeLines(desc: DescMethod, response: Response, take: number): Promise<Outcome> {
  const events: JsonValue[] = [];
  let text = "";
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) {
      const { result, error } = JSON.parse(line) as { result: JsonValue; error?: unknown };
      if (error !== undefined) return restFailure(error);
      events.push(normal(desc, result));
      if (events.length === take) return { events };
    }
  }
  return { events };
}

async function takeEvents(desc: DescMethod, stream: AsyncIterable<unknown>, take: number): Promise<Outcome> {
  const events: JsonValue[] = [];
  for await (const event of stream) {
    events.push(toJson(desc.output, event as Message));
    if (events.length === take) break;
  }
  return { events };
}

/**
 * Removes the zero values that REST writes and proto3 JSON leaves out. Throws on a field that the output type does not
 * have.
 */
function normal(desc: DescMethod, answer: JsonValue): JsonValue {
  return toJson(desc.output, fromJson(desc.output, answer));
}

function restFailure(body: unknown): Outcome {
  const { code, message } = body as { code: number; message: string };
  return failure(code, message);
}

function failure(code: number, message: string): Outcome {
  const name = ERROR_NAMES[code as keyof typeof ERROR_NAMES];
  if (name === undefined) throw new Error(`Code ${code} is not in the table of docs/api.md: ${message}`);
  return { error: { code: name, message } };
}
