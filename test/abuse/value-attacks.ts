import { type ClientHttp2Session, connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { type Attack, enveloped, grpcHeaders, postHeaders, varint } from "./attacks.js";
import { KEYS, type Target } from "./target.js";

/** A request that is small on the wire and holds very many values. */
export interface SmallRequest {
  readonly name: string;
  readonly port: "grpcUrl" | "httpUrl";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

/** An attack that notes how the server answers. */
export interface AnsweredAttack extends Attack {
  /** How often the server has given each answer: `invalid_argument`, or else its headers and its body. */
  readonly answers: ReadonlyMap<string, number>;
}

const CREATE = "/sessionpool.v1.SessionService/CreateSession";
const LIST = "/sessionpool.v1.SessionService/ListSessions";
const UPDATE = "/sessionpool.v1.SessionService/UpdateSession";
const APPEND = "/sessionpool.v1.MessageService/AppendMessage";
const APPEND_ALL = "/sessionpool.v1.MessageService/AppendMessages";
const EXTEND = "/sessionpool.v1.MessageService/ExtendDraft";
const WATCH = "/sessionpool.v1.MessageService/WatchMessages";
const { hostile: WRITER, reader: READER } = KEYS;

/**
 * Requests with this many values, by every front, in both forms and with both kinds of keys. The server has to refuse
 * each of them as `invalid_argument`.
 */
export function smallRequests(count: number): readonly SmallRequest[] {
  const times = (bytes: readonly number[]) => Buffer.alloc(bytes.length * count, Buffer.from(bytes));
  const list = (item: string) => `[${`${item},`.repeat(count - 1)}${item}]`;
  const [labels, messages, parts] = [times([0x2a, 0]), times([0x12, 0]), within(2, times([0x12, 0]))];
  const filters = times([0x22, 0]);
  const numbers = within(4, within(1, within(2, within(6, times([0x0a, 2, 0x20, 1])))));
  const group = Buffer.concat([Buffer.from("9b06", "hex"), times([8, 0]), Buffer.from("9c06", "hex")]);
  const deep = "[".repeat(count);
  return [
    byGrpc("labels", CREATE, WRITER, labels),
    byGrpc("messages", APPEND_ALL, WRITER, messages),
    byGrpc("label filters with a read key", LIST, READER, filters),
    byGrpc("unknown fields of a watch", WATCH, READER, Buffer.concat([group, Buffer.from("0a0101", "hex")])),
    byGrpcOnHttp("deltas", EXTEND, WRITER, times([0x22, 0])),
    byGrpcWeb("paths of a mask", UPDATE, WRITER, within(4, times([0x0a, 0]))),
    byConnect("parts", APPEND, WRITER, "proto", parts),
    byConnect("elements of a Struct", CREATE, WRITER, "proto", numbers),
    byConnect("label filters with a read key", LIST, READER, "proto", filters),
    byConnectGet("label filters with a read key", LIST, READER, filters),
    byConnect("parts", APPEND, WRITER, "json", Buffer.from(`{"message":{"parts":${list("{}")}}}`)),
    byConnect("nested lists with a read key", LIST, READER, "json", Buffer.from(deep)),
    byConnect("paths of a mask", UPDATE, WRITER, "json", Buffer.from(`{"updateMask":"${"a,".repeat(count)}a"}`)),
    byRest("members of one name", "/session", WRITER, `{"metadata":{${'"a":0,'.repeat(count)}"a":0}}`),
    byRest("empty lists", "/session/ordinary/message:batch", WRITER, `{"messages":${list("[]")}}`),
    byOpenAi("items", WRITER, `{"items":${list("{}")}}`),
  ];
}

/** Sends requests in turn, again and again, one at a time. */
export function repeat(target: Target, requests: readonly SmallRequest[]): AnsweredAttack {
  const answers = new Map<string, number>();
  const sessions = new Map<string, ClientHttp2Session>();
  let sent = 0;
  let isStopped = false;
  const send = (): void => {
    if (isStopped) return;
    const request = requests[sent++ % requests.length] as SmallRequest;
    let session = sessions.get(request.port);
    if (session === undefined || session.destroyed || session.closed) session = connect(target[request.port]);
    sessions.set(request.port, session);
    ask(session, request, (answer) => {
      answers.set(answer, (answers.get(answer) ?? 0) + 1);
      // The observed client is in the same process.
      setImmediate(send);
    });
  };
  send();
  return {
    answers,
    refused: () => answers.get("invalid_argument") ?? 0,
    stop: () => {
      isStopped = true;
      for (const session of sessions.values()) session.destroy();
    },
  };
}

function connect(url: string): ClientHttp2Session {
  const session = connectHttp2(url);
  session.on("error", () => undefined);
  return session;
}

function ask(session: ClientHttp2Session, { headers, body }: SmallRequest, onAnswer: (answer: string) => void): void {
  const stream = session.request(headers);
  let seen: IncomingHttpHeaders = {};
  let text = "";
  for (const event of ["response", "trailers"]) {
    stream.on(event, (more: IncomingHttpHeaders) => {
      seen = { ...more, ...seen };
    });
  }
  stream.setEncoding("latin1");
  stream.on("data", (chunk: string) => {
    text += chunk;
  });
  stream.on("error", () => undefined);
  stream.once("close", () => {
    onAnswer(isInvalidArgument(seen, text) ? "invalid_argument" : `${JSON.stringify(seen)} ${text}`);
  });
  stream.end(body);
}

/** gRPC tells the code in a header or a trailer, and gRPC-Web in the last part of its body. */
function isInvalidArgument(headers: IncomingHttpHeaders, body: string): boolean {
  return Number(headers[":status"]) === 400 || headers["grpc-status"] === "3" || /grpc-status: ?3\r\n/.test(body);
}

function byGrpc(what: string, path: string, key: string, content: Buffer): SmallRequest {
  const headers = { ...grpcHeaders(path, key), "grpc-encoding": "gzip" };
  return { name: `${what}, by gRPC`, port: "grpcUrl", headers, body: compressedFrame(content) };
}

function byGrpcOnHttp(what: string, path: string, key: string, content: Buffer): SmallRequest {
  return { ...byGrpc(what, path, key, content), name: `${what}, by gRPC on the HTTP port`, port: "httpUrl" };
}

function byGrpcWeb(what: string, path: string, key: string, content: Buffer): SmallRequest {
  const headers = { ...postHeaders(path, "application/grpc-web+proto", key), "grpc-encoding": "gzip" };
  return { name: `${what}, by gRPC-Web`, port: "httpUrl", headers, body: compressedFrame(content) };
}

function byConnect(what: string, path: string, key: string, form: "proto" | "json", content: Buffer): SmallRequest {
  const headers = { ...postHeaders(path, `application/${form}`, key), "content-encoding": "gzip" };
  return { name: `${what}, by Connect with ${form}`, port: "httpUrl", headers, body: gzipped(content) };
}

function byConnectGet(what: string, path: string, key: string, content: Buffer): SmallRequest {
  const message = gzipped(content).toString("base64url");
  const query = `connect=v1&encoding=proto&base64=1&compression=gzip&message=${message}`;
  const headers = { ":method": "GET", ":path": `${path}?${query}`, authorization: `Bearer ${key}` };
  return { name: `${what}, by Connect with GET`, port: "httpUrl", headers };
}

function byRest(what: string, path: string, key: string, json: string): SmallRequest {
  const headers = { ...postHeaders(path, "application/json", key), "content-encoding": "br" };
  return { name: `${what}, by REST`, port: "httpUrl", headers, body: brotliCompressSync(json) };
}

function byOpenAi(what: string, key: string, json: string): SmallRequest {
  const request = byRest(what, "/v1/conversations/ordinary/items", key, json);
  return { ...request, name: `${what}, as OpenAI's conversations` };
}

/** The bytes as a field of a message around them. */
function within(no: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([(no << 3) | 2]), varint(content.length), content]);
}

function compressedFrame(content: Buffer): Buffer {
  const frame = enveloped(gzipped(content));
  frame[0] = 1;
  return frame;
}

function gzipped(content: Buffer): Buffer {
  return gzipSync(content, { level: 9 });
}
