import { type Concurrency, GRPC_PREFIX_BYTES, type HttpRequest } from "./generators.js";
import type { BareServer, Operation } from "./operations.js";

/** One way to make the same call: a front of the service, or a bare server. */
export interface Column {
  readonly id: string;
  readonly name: string;
  /** What a front is compared with, which is itself for a bare server. */
  readonly bare: BareServer;
  request(operation: Operation, ports: Ports): HttpRequest;
}

export interface Ports {
  readonly grpcPort: number;
  readonly httpPort: number;
}

export const COLUMNS: readonly Column[] = [
  { id: "rest", name: "REST", bare: "bare-http", request: rest },
  { id: "connect-json", name: "Connect JSON", bare: "bare-http", request: connect("application/json") },
  { id: "connect-binary", name: "Connect binary", bare: "bare-http", request: connect("application/proto") },
  { id: "grpc-http", name: "gRPC on the HTTP port", bare: "bare-grpc", request: grpc("httpPort") },
  { id: "grpc", name: "gRPC port", bare: "bare-grpc", request: grpc("grpcPort") },
  { id: "bare-http", name: "bare node:http", bare: "bare-http", request: rest },
  { id: "bare-grpc", name: "bare grpc-js", bare: "bare-grpc", request: grpc("grpcPort") },
];

export function isFront({ id, bare }: Column): boolean {
  return id !== bare;
}

/** Returns as many calls at every front, because a server to which more are sent does more of them at once. */
export function concurrencyOf({ isPage }: Operation, { version }: HttpRequest): Concurrency {
  const calls = isPage ? 8 : 32;
  return version === 1 ? { connections: calls, callsEach: 1 } : { connections: 4, callsEach: calls / 4 };
}

export function restRequest(port: number, path: string, body?: string): HttpRequest {
  if (body === undefined) return { version: 1, port, path, headers: {} };
  return { version: 1, port, path, headers: { "content-type": "application/json" }, body: Buffer.from(body) };
}

export function grpcRequest(port: number, path: string, message: Uint8Array): HttpRequest {
  const prefix = Buffer.alloc(GRPC_PREFIX_BYTES);
  prefix.writeUInt32BE(message.length, 1);
  const headers = { "content-type": "application/grpc", te: "trailers" };
  return { version: 2, port, path, headers, body: Buffer.concat([prefix, message]) };
}

function rest({ rest: { path, body } }: Operation, { httpPort }: Ports): HttpRequest {
  return restRequest(httpPort, path, body);
}

function connect(contentType: "application/json" | "application/proto"): Column["request"] {
  const headers = { "content-type": contentType, "connect-protocol-version": "1" };
  return ({ method, json, binary }, { httpPort }) => {
    const body = contentType === "application/json" ? Buffer.from(json) : binary;
    return { version: 1, port: httpPort, path: method, headers, body };
  };
}

function grpc(port: keyof Ports): Column["request"] {
  return ({ method, binary }, ports) => grpcRequest(ports[port], method, binary);
}
