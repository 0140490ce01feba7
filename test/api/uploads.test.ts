import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type IncomingHttpHeaders } from "node:http2";
import { gzipSync } from "node:zlib";
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { type Client, Code, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  AttachmentSchema,
  AttachmentService,
  GetAttachmentRequestSchema,
  UploadAttachmentRequestSchema,
} from "../../gen/sessionpool/v1/attachment_service_pb.js";
import { SessionService } from "../../gen/sessionpool/v1/session_service_pb.js";
import { DEFAULT_SERVER_LIMITS, type ServerLimits } from "../../src/config/config.js";
import { frameOf } from "../../src/server/rpc/frames.js";
import { poll } from "../support/poll.js";
import { startTestServer, type TestServer } from "../support/server.js";

type Upload = MessageInitShape<typeof UploadAttachmentRequestSchema>;

const MIB = 1024 * 1024;
const END_STREAM = 2;
const TRAILERS = 0x80;

/** The ways to upload over HTTP/2, and the clients of other people that use them. */
const WAYS = [
  { name: "the gRPC port", port: "grpc", type: "application/grpc", transport: grpcPort },
  { name: "gRPC", port: "http", type: "application/grpc+proto", transport: grpc },
  { name: "gRPC-Web", port: "http", type: "application/grpc-web+proto", transport: grpcWeb },
  { name: "Connect", port: "http", type: "application/connect+proto", transport: connectBinary },
] as const;
type Way = (typeof WAYS)[number];

/** The other forms of the same protocols. */
const OTHERS = [
  { name: "Connect as JSON", make: createConnectTransport, httpVersion: "2", useBinaryFormat: false },
  { name: "Connect over HTTP/1.1", make: createConnectTransport, httpVersion: "1.1", useBinaryFormat: true },
  { name: "gRPC-Web over HTTP/1.1", make: createGrpcWebTransport, httpVersion: "1.1", useBinaryFormat: true },
] as const;

let server: TestServer;
const connections: ClientHttp2Session[] = [];

beforeEach(() => start());

afterEach(async () => {
  for (const one of connections.splice(0)) one.destroy();
  await server.stop();
});

const OTHER_WAYS = OTHERS.map(({ name, make, ...options }) => {
  return { name, transport: ({ httpUrl }: TestServer) => make({ baseUrl: httpUrl, ...options }) };
});

describe.each([...WAYS, ...OTHER_WAYS])("by $name", ({ transport }) => {
  it("bytes are uploaded in chunks of any size and come back the same", async () => {
    const client = createClient(AttachmentService, transport(server));
    const bytes = Uint8Array.from({ length: 3 * MIB + 1 }, (_, at) => (at * 7) ^ (at >> 9));
    const parts = [0, 10, 10, 100_000, 100_001, 2 * MIB, bytes.length].map((at, i, all) =>
      bytes.subarray(all[i - 1], at),
    );
    const upload = () =>
      client.uploadAttachment(
        sent(
          { attachmentId: "a", name: "a.bin", mediaType: "image/png", size: BigInt(bytes.length) },
          ...parts.map((chunk) => ({ chunk })),
        ),
      );
    const stored = await upload();
    expect(stored).toMatchObject({
      attachmentId: "a",
      name: "a.bin",
      mediaType: "image/png",
      size: BigInt(bytes.length),
    });
    expect(await upload()).toEqual(stored);
    expect((await read(client, "a")).equals(bytes)).toBe(true);
    expect((await read(client, "a", { offset: 5n, length: 7n })).equals(bytes.subarray(5, 12))).toBe(true);
    expect(await client.uploadAttachment(sent({ attachmentId: "none" }))).toMatchObject({ size: 0n });
    expect(await read(client, "none")).toEqual(Buffer.alloc(0));
    expect(await metrics()).toMatch(
      new RegExp(`stored_bytes_total\\{front="(grpc|connect)"\\} ${2 * bytes.length}\\n`),
    );
    expect(await metrics()).toMatch(
      new RegExp(`served_bytes_total\\{front="(grpc|connect)"\\} ${bytes.length + 7}\\n`),
    );
  });
});

describe.each(WAYS)("an upload by $name", (way) => {
  it("is refused at once, while its client goes on, when it would be too large or its session is missing", async () => {
    for (const [first, code, text] of [
      [{ size: BigInt(MIB * MIB) }, Code.InvalidArgument, /--limit-attachment-bytes/],
      [{ sessionId: "nobody" }, Code.NotFound, /"nobody"/],
      [{ attachmentId: ".." }, Code.InvalidArgument, /attachment_id/],
    ] as const) {
      const call = open(way);
      call.send(first);
      expect(await call.outcome()).toEqual({ code, message: expect.stringMatching(text) });
    }
    expect(await metrics()).toMatch(/uploads_ended_early_total\{front="(grpc|connect)"\} 3\n/);
  });

  it("is refused when it is malformed, and leaves nothing", async () => {
    const cases: [string, (call: Call) => void, Code, RegExp][] = [
      ["no message", (call) => call.stream.end(), Code.Unimplemented, /holds no message/],
      [
        "half a message",
        (call) => {
          call.send({ attachmentId: "a" });
          call.stream.end(Buffer.from([0, 0, 0, 0, 9, 1]));
        },
        Code.InvalidArgument,
        /ends within its message/,
      ],
      [
        "facts in its second message",
        (call) => call.send({ attachmentId: "a" }, { name: "late", chunk: Buffer.from("x") }),
        Code.InvalidArgument,
        /Only the first message/,
      ],
      ["no facts", (call) => call.send({ sessionId: "", chunk: Buffer.from("x") }), Code.InvalidArgument, /session_id/],
      [
        "no protobuf",
        (call) => {
          call.send({ attachmentId: "a" });
          call.stream.write(frameOf(0, Buffer.from([0x0a, 5, 1])));
        },
        Code.InvalidArgument,
        /./,
      ],
      [
        "unknown flags",
        (call) => {
          call.send({ attachmentId: "a" });
          call.stream.write(frameOf(4, Buffer.alloc(1)));
        },
        Code.InvalidArgument,
        /unknown flags/,
      ],
      [
        "a chunk over the limit of messages",
        (call) => {
          call.send({ attachmentId: "a" });
          call.stream.write(Buffer.from([0, 0x7f, 0xff, 0xff, 0xff]));
        },
        Code.ResourceExhausted,
        /larger than/,
      ],
    ];
    for (const [what, send, code, text] of cases) {
      const call = open(way);
      send(call);
      expect({ what, ...(await call.outcome()) }).toEqual({ what, code, message: expect.stringMatching(text) });
    }
    await expectNothingLeft();
  });

  it.each(["stream", "connection"] as const)("leaves nothing when its %s is reset, and is counted", async (what) => {
    const call = open(way);
    call.send({ attachmentId: "a", chunk: Buffer.alloc(MIB) });
    await poll(async () => /session_pool_watchers 1\n/.test(await metrics()), "the upload is under way");
    call[what].destroy();
    await poll(async () => /uploads_ended_early_total\{front="(grpc|connect)"\} 1\n/.test(await metrics()), "it ends");
    await expectNothingLeft();
  });

  it("ends when its client pauses for longer than it may", async () => {
    await start({ bodyTimeoutMs: 2000 });
    const call = open(way);
    call.send({ attachmentId: "a", chunk: Buffer.from("x") });
    expect(await call.outcome()).toEqual({
      code: Code.DeadlineExceeded,
      message: "Nothing of the body has arrived for 2 seconds",
    });
    await expectNothingLeft();
  });

  it("holds a message at a time, compressed or not, however many arrive together", async () => {
    await start({ bufferedBytes: 3 * MIB });
    const call = open(way, { gzip: true });
    call.send({ attachmentId: "a" });
    const chunk = frameOf(
      1,
      gzipSync(toBinary(UploadAttachmentRequestSchema, message({ sessionId: "", chunk: Buffer.alloc(MIB) }))),
    );
    call.stream.end(Buffer.concat(Array.from({ length: 20 }, () => chunk)));
    expect(await call.outcome()).toMatchObject({ answer: { size: BigInt(20 * MIB) } });
    await poll(async () => /session_pool_buffered_bytes 0\n/.test(await metrics()), "nothing is held");
  });

  it("ends with the server", async () => {
    const call = open(way);
    call.send({ attachmentId: "a" });
    await poll(async () => /session_pool_watchers 1\n/.test(await metrics()), "the upload is under way");
    const stopped = server.stop();
    expect(await call.outcome()).toEqual({ code: Code.Unavailable, message: "The server is stopping" });
    await stopped;
    await start();
  });
});

describe.each(WAYS)("a download by $name", (way) => {
  it("waits for its reader, and ends with it", async () => {
    const client = createClient(AttachmentService, way.transport(server));
    await client.uploadAttachment(
      sent({ attachmentId: "a" }, ...Array.from({ length: 32 }, () => ({ chunk: Buffer.alloc(MIB) }))),
    );
    const { connection, stream } = openStream(way, "GetAttachment");
    stream.end(
      frameOf(
        0,
        toBinary(GetAttachmentRequestSchema, create(GetAttachmentRequestSchema, { sessionId: "s", attachmentId: "a" })),
      ),
    );
    await once(stream, "response");
    let before = -1;
    await poll(async () => {
      const served = Number(/served_bytes_total\{front="\w+"\} (\d+)/.exec(await metrics())?.[1]);
      const isSame = served === before;
      before = served;
      return isSame;
    }, "nothing more is sent");
    expect(before).toBeLessThan(2 * MIB);
    connection.destroy();
    await poll(async () => /session_pool_watchers 0\n/.test(await metrics()), "the stream has ended");
    await poll(async () => /session_pool_buffered_bytes 0\n/.test(await metrics()), "nothing is held");
  });
});

async function start(serverLimits: Partial<ServerLimits> = {}): Promise<void> {
  await server?.stop();
  server = await startTestServer({ serverLimits: { ...DEFAULT_SERVER_LIMITS, ...serverLimits } });
  await createClient(SessionService, grpcPort(server)).createSession({ sessionId: "s" });
}

interface Call {
  readonly connection: ClientHttp2Session;
  readonly stream: ClientHttp2Stream;
  /** Sends messages, the first of which is for the session `s` unless it says otherwise. */
  send(...messages: Upload[]): void;
  /** The answer or error, which may come while the client's stream is open. */
  outcome(): Promise<{ answer: unknown } | { code: Code; message: string }>;
}

function openStream({ port, type }: Way, method: string, gzip = false): Pick<Call, "connection" | "stream"> {
  const connection = connect(port === "grpc" ? `http://${server.grpcAddress}` : server.httpUrl);
  connections.push(connection.on("error", () => {}));
  const encodingHeader = type.includes("connect") ? "connect-content-encoding" : "grpc-encoding";
  const path = `/sessionpool.v1.AttachmentService/${method}`;
  const headers = { ":method": "POST", ":path": path, "content-type": type, te: "trailers" };
  const stream = connection.request({ ...headers, ...(gzip && { [encodingHeader]: "gzip" }) });
  return { connection, stream: stream.on("error", () => {}) };
}

function open(way: Way, { gzip = false } = {}): Call {
  const { connection, stream } = openStream(way, "UploadAttachment", gzip);
  const fields: IncomingHttpHeaders = {};
  const chunks: Buffer[] = [];
  stream.on("response", (received) => Object.assign(fields, received));
  stream.on("trailers", (received) => Object.assign(fields, received));
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  const ended = once(stream, "end");
  let sentMessages = 0;
  return {
    connection,
    stream,
    send: (...messages) => {
      for (const one of messages) {
        const sessionId = sentMessages === 0 ? (one.sessionId ?? "s") : "";
        sentMessages += 1;
        stream.write(frameOf(0, toBinary(UploadAttachmentRequestSchema, message({ ...one, sessionId }))));
      }
    },
    outcome: async () => {
      await ended;
      return outcomeOf(Buffer.concat(chunks), fields);
    },
  };
}

function outcomeOf(body: Buffer, fields: IncomingHttpHeaders): { answer: unknown } | { code: Code; message: string } {
  let answer: unknown;
  for (let at = 0; at < body.length; ) {
    const end = at + 5 + body.readUInt32BE(at + 1);
    const bytes = body.subarray(at + 5, end);
    if (body[at] === END_STREAM) {
      const { error } = JSON.parse(bytes.toString()) as { error?: { code: string; message: string } };
      if (error !== undefined) return { code: codeOf(error.code), message: error.message };
    } else if (body[at] === TRAILERS) {
      for (const [, name, value] of bytes.toString().matchAll(/([\w-]+): ?(.*)\r\n/g)) fields[name!] = value;
    } else {
      answer = fromBinary(AttachmentSchema, bytes);
    }
    at = end;
  }
  const code = Number(fields["grpc-status"] ?? 0);
  return code === 0 ? { answer } : { code, message: decodeURIComponent(String(fields["grpc-message"])) };
}

function codeOf(name: string): Code {
  const key = name.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
  return Code[key as keyof typeof Code];
}

function message(init: Upload) {
  return create(UploadAttachmentRequestSchema, init);
}

async function* sent(first: Upload, ...rest: Upload[]): AsyncGenerator<Upload> {
  yield { sessionId: "s", ...first };
  yield* rest;
}

async function read(
  client: Client<typeof AttachmentService>,
  attachmentId: string,
  range: { offset?: bigint; length?: bigint } = {},
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const { chunk } of client.getAttachment({ sessionId: "s", attachmentId, ...range })) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function metrics(): Promise<string> {
  return (await fetch(`${server.httpUrl}/metrics`)).text();
}

/** Another upload may take the id, with other bytes, and so much room that none of the first one's can be left. */
async function expectNothingLeft(): Promise<void> {
  const client = createClient(AttachmentService, grpcPort(server));
  await expect(read(client, "a")).rejects.toMatchObject({ code: Code.NotFound });
  const { size } = await client.uploadAttachment(sent({ attachmentId: "a", chunk: Buffer.from("other") }));
  expect(size).toBe(5n);
}

function grpcPort({ grpcAddress }: TestServer): Transport {
  return createGrpcTransport({ baseUrl: `http://${grpcAddress}` });
}

function grpc({ httpUrl }: TestServer): Transport {
  return createGrpcTransport({ baseUrl: httpUrl });
}

function grpcWeb({ httpUrl }: TestServer): Transport {
  return createGrpcWebTransport({ baseUrl: httpUrl, httpVersion: "2" });
}

function connectBinary({ httpUrl }: TestServer): Transport {
  return createConnectTransport({ baseUrl: httpUrl, httpVersion: "2", useBinaryFormat: true });
}
