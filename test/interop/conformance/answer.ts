import { create, type DescMessage, type DescMethod, type Message } from "@bufbuild/protobuf";
import { type Any, anyPack } from "@bufbuild/protobuf/wkt";
import { ConnectError } from "@connectrpc/connect";
import { registry } from "./methods.js";
import type { Seen } from "./seen.js";

interface Header {
  readonly name: string;
  readonly value: readonly string[];
}

interface ErrorDefinition {
  readonly code: number;
  readonly message?: string;
  readonly details: readonly Any[];
}

/** What a request says its answer must be. A stream has `responseData` and `error`, any other call has `response`. */
export interface Definition {
  readonly responseHeaders: readonly Header[];
  readonly responseTrailers: readonly Header[];
  readonly responseDelayMs: number;
  readonly response?: { case?: "responseData" | "error"; value?: Uint8Array | ErrorDefinition };
  readonly responseData?: readonly Uint8Array[];
  readonly error?: ErrorDefinition;
}

export type ConformanceRequest = Message & { readonly responseDefinition?: Definition };

/** The first message of a client's stream says what to answer. */
export async function answerUnary(
  desc: DescMethod,
  [first, ...rest]: readonly [ConformanceRequest, ...Message[]],
  seen: Seen,
): Promise<Message> {
  const definition = first.responseDefinition;
  begin(definition, seen);
  await delay(definition?.responseDelayMs ?? 0);
  const info = requestInfo(desc, [first, ...rest], seen);
  if (definition?.response?.case === "error") throw toError(definition.response.value as ErrorDefinition, info, seen);
  const data = definition?.response?.value as Uint8Array | undefined;
  return payload(desc.output, data, info);
}

/** Sets the headers before it returns the stream, because the front sends them as soon as it has the stream. */
export function answerStream(desc: DescMethod, request: ConformanceRequest, seen: Seen): AsyncGenerator<Message> {
  begin(request.responseDefinition, seen);
  return streamed(desc, request, seen);
}

async function* streamed(desc: DescMethod, request: ConformanceRequest, seen: Seen): AsyncGenerator<Message> {
  const definition = request.responseDefinition;
  let info: Message | undefined = requestInfo(desc, [request], seen);
  for (const data of definition?.responseData ?? []) {
    await delay(definition?.responseDelayMs ?? 0);
    yield payload(desc.output, data, info);
    info = undefined;
  }
  if (definition?.error !== undefined) throw toError(definition.error, info, seen);
}

function begin(definition: Definition | undefined, seen: Seen): void {
  const headersOf = (all: readonly Header[] = []) => {
    return new Headers(all.flatMap(({ name, value }) => value.map((one): [string, string] => [name, one])));
  };
  seen.add(headersOf(definition?.responseHeaders), headersOf(definition?.responseTrailers));
}

function payload(output: DescMessage, data: Uint8Array | undefined, requestInfo: Message | undefined): Message {
  const message = { ...(data && { data }), ...(requestInfo && { requestInfo }) };
  return create(output, { payload: create(typeOf("ConformancePayload"), message) });
}

function requestInfo(desc: DescMethod, requests: readonly Message[], { headers, query, timeoutMs }: Seen): Message {
  return create(typeOf("ConformancePayload.RequestInfo"), {
    requestHeaders: toHeaders(headers),
    requests: requests.map((request) => anyPack(desc.input, request)),
    ...(timeoutMs !== undefined && { timeoutMs: BigInt(Math.round(timeoutMs)) }),
    ...(query.size > 0 && {
      connectGetInfo: create(typeOf("ConformancePayload.ConnectGetInfo"), { queryParams: toHeaders(query) }),
    }),
  });
}

/**
 * Makes the error that a request asks for. When nothing was sent before it, `info`, which describes the request, is
 * added to its details.
 */
function toError({ code, message, details }: ErrorDefinition, info: Message | undefined, seen: Seen): ConnectError {
  const error = new ConnectError(message ?? "", code);
  const all = [...details, ...(info === undefined ? [] : [anyPack(registry.getMessage(info.$typeName)!, info)])];
  error.details = all.map(({ typeUrl, value }) => ({ type: typeUrl.slice(typeUrl.lastIndexOf("/") + 1), value }));
  seen.fail(error);
  return error;
}

function toHeaders(entries: Headers | URLSearchParams): Message[] {
  const names = new Set(entries.keys());
  return [...names].map((name) => {
    const value = entries instanceof Headers ? [entries.get(name) ?? ""] : entries.getAll(name);
    return create(typeOf("Header"), { name, value });
  });
}

export function typeOf(name: string): DescMessage {
  const found = registry.getMessage(`connectrpc.conformance.v1.${name}`);
  if (found === undefined) throw new Error(`No message ${name}`);
  return found;
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
