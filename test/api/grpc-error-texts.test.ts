import { connect, type IncomingHttpHeaders } from "node:http2";
import { buffer } from "node:stream/consumers";
import { create, toBinary } from "@bufbuild/protobuf";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { Client, credentials, type ServiceError } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WatchMessagesRequestSchema } from "../../gen/sessionpool/v1/message_service_pb.js";
import { GetSessionRequestSchema } from "../../gen/sessionpool/v1/session_service_pb.js";
import { startTestServer, type TestServer } from "../support/server.js";

const SESSION_ID = "a:b;c,d?e@f&g=h+i$j#k 100%3A é";
const TEXT = `Session ${JSON.stringify(SESSION_ID)} not found`;
const ESCAPED = TEXT.replace("%", "%25").replace("é", "%C3%A9");
const TYPE = "application/grpc";
const WEB_TYPE = "application/grpc-web+proto";

interface Call {
  readonly path: string;
  readonly request: Uint8Array;
  readonly text: string;
  readonly escaped: string;
}

const unknown = (path: string): Call => {
  return { path, request: new Uint8Array(), text: `No such RPC: ${path}`, escaped: `No such RPC: ${path}` };
};
const CALLS: Record<string, Call> = {
  "a unary call": {
    path: "/sessionpool.v1.SessionService/GetSession",
    request: toBinary(GetSessionRequestSchema, create(GetSessionRequestSchema, { sessionId: SESSION_ID })),
    text: TEXT,
    escaped: ESCAPED,
  },
  "a stream": {
    path: "/sessionpool.v1.MessageService/WatchMessages",
    request: toBinary(WatchMessagesRequestSchema, create(WatchMessagesRequestSchema, { sessionId: SESSION_ID })),
    text: TEXT,
    escaped: ESCAPED,
  },
  "an unknown method": unknown("/sessionpool.v1.SessionService/Nope"),
  "an unknown service": unknown("/nope.v1.NopeService/Nope"),
};

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});

afterAll(() => server.stop());

describe.each(Object.entries(CALLS))("the error of %s", (what, { path, request, text, escaped }) => {
  const callByGrpcJs = (address: string): Promise<string> =>
    new Promise((resolve) => {
      const client = new Client(address, credentials.createInsecure());
      const done = ({ details }: ServiceError) => {
        client.close();
        resolve(details);
      };
      const message = Buffer.from(request);
      if (what === "a stream") {
        client.makeServerStreamRequest(path, Buffer.from, Buffer.from, message).on("error", done).resume();
      } else client.makeUnaryRequest(path, Buffer.from, Buffer.from, message, (error) => done(error!));
    });

  it("has the same text on both ports, for a client that leaves punctuation escaped", async () => {
    expect(await callByGrpcJs(server.grpcAddress)).toBe(text);
    expect(await callByGrpcJs(new URL(server.httpUrl).host)).toBe(text);
  });

  it("is escaped on the HTTP port as gRPC asks, and no more", async () => {
    expect((await send(TYPE)).fields["grpc-message"]).toBe(escaped);
  });

  it("is escaped so in gRPC-Web too, also when its trailers are compressed", async () => {
    for (const accepted of [undefined, "gzip", "br"]) {
      const { fields, body } = await send(WEB_TYPE, accepted);
      const inBody = /grpc-message: (.*)\r/.exec(body)?.[1];
      expect(inBody ?? fields["grpc-message"], accepted).toBe(escaped);
    }
  });

  /** Resolves to the headers and trailers together, and to the body as text. */
  async function send(type: string, accepted?: string) {
    const client = connect(server.httpUrl);
    const stream = client.request({
      ":method": "POST",
      ":path": path,
      "content-type": type,
      te: "trailers",
      ...(accepted !== undefined && { "grpc-accept-encoding": accepted }),
    });
    const fields: IncomingHttpHeaders = {};
    stream.on("response", (headers) => Object.assign(fields, headers));
    stream.on("trailers", (trailers) => Object.assign(fields, trailers));
    stream.end(encodeEnvelope(0, request));
    const body = (await buffer(stream)).toString();
    client.close();
    return { fields, body };
  }
});

it("a long error over gRPC-Web is as readable as a short one if the client accepts compression", async () => {
  const name = `${"é".repeat(300)}:/`;
  for (const encoding of ["gzip", "br"]) {
    const answer = await fetch(`${server.httpUrl}/sessionpool.v1.SessionService/GetSession`, {
      method: "POST",
      headers: { "content-type": "application/grpc-web+json", "grpc-accept-encoding": encoding },
      body: encodeEnvelope(0, Buffer.from(JSON.stringify({ [name]: 1 }))),
    });
    expect(answer.headers.get("grpc-encoding")).toBe(encoding);
    const text = /grpc-message: (.*)\r/.exec(await answer.text())?.[1] ?? "";
    expect(text).toContain("%C3%A9:/");
    expect(decodeURIComponent(text)).toContain(name);
  }
});
