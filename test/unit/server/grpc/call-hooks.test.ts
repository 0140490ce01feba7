import {
  Client,
  credentials,
  type handleBidiStreamingCall,
  type handleUnaryCall,
  Server,
  ServerCredentials,
  type ServerInterceptor,
  status,
  type UntypedHandleCall,
} from "@grpc/grpc-js";
import { afterEach, describe, expect, it } from "vitest";
import {
  type BaseCall,
  type CallHooks,
  hookCall,
  type InterceptedCall,
} from "../../../../src/server/grpc/call-hooks.js";

const ECHO = "/test.Echo/Echo";
const METHODS = ["sendMetadata", "sendStatus", "handleDataFrame", "handleEndEvent", "decompressMessage"];

let server: Server;
let client: Client;

afterEach(() => {
  client?.close();
  server?.forceShutdown();
});

interface Answer {
  readonly code: status;
  readonly text: string | undefined;
  /** The ids in the headers and in the trailers. */
  readonly ids: readonly unknown[];
}

/** Calls a server that answers with what it got, or with an error for `fail`. */
async function echo(text: string, interceptors: ServerInterceptor[]): Promise<Answer> {
  const asIs = (bytes: Buffer) => bytes;
  server = new Server({ interceptors });
  const handle: handleUnaryCall<Buffer, Buffer> = ({ request }, respond) => {
    if (request.toString() === "fail") respond({ code: status.ABORTED, details: "failed" });
    else respond(null, request);
  };
  server.register(ECHO, handle as UntypedHandleCall as handleBidiStreamingCall<Buffer, Buffer>, asIs, asIs, "unary");
  const port = await new Promise<number>((resolve, reject) => {
    const listening = (error: Error | null, chosen: number) => (error === null ? resolve(chosen) : reject(error));
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), listening);
  });
  client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  return new Promise((resolve) => {
    const ids: unknown[] = [];
    let answer: string | undefined;
    const call = client.makeUnaryRequest(ECHO, asIs, asIs, Buffer.from(text), (_error, bytes) => {
      answer = bytes?.toString();
    });
    call.on("metadata", (metadata) => ids.push(...metadata.get("x-request-id")));
    call.on("status", ({ code, metadata }) => {
      ids.push(...metadata.get("x-request-id"));
      setImmediate(() => resolve({ code, text: answer, ids }));
    });
  });
}

/** Notes what grpc-js tells about its calls. */
function hooking(told: string[], changes: Partial<CallHooks> = {}): ServerInterceptor {
  return (_method, call) => {
    hookCall(call, {
      requestId: "r-1",
      isNamed: false,
      takeChunk: (chunk) => {
        told.push(`chunk of ${chunk.length}`);
        return chunk;
      },
      endBody: () => told.push("end"),
      decompress: (frame, encoding) => {
        told.push(`${encoding} frame of ${frame.length}`);
        return Buffer.from(frame.subarray(5).toString().toUpperCase());
      },
      ...changes,
    });
    return call as ReturnType<ServerInterceptor>;
  };
}

describe("grpc-js", () => {
  it("tells of the body, and names the request once", async () => {
    const told: string[] = [];
    expect(await echo("hello", [hooking(told)])).toEqual({ code: status.OK, text: "HELLO", ids: ["r-1"] });
    expect(told).toEqual(["chunk of 10", "identity frame of 10", "end"]);
  });

  it("names the request in an error, too", async () => {
    const answer = await echo("fail", [hooking([], { decompress: (frame) => frame.subarray(5) })]);
    expect(answer).toEqual({ code: status.ABORTED, text: undefined, ids: ["r-1"] });
  });

  it("sends the status that a frame is rejected with", async () => {
    const refuse = () => Promise.reject({ code: status.DATA_LOSS, details: "lost", metadata: null });
    const answer = await echo("hello", [hooking([], { decompress: refuse })]);
    expect(answer).toEqual({ code: status.DATA_LOSS, text: undefined, ids: ["r-1"] });
  });

  it("reads and keeps the chunk that it is given", async () => {
    const given = Buffer.from([0, 0, 0, 0, 5, ...Buffer.from("other")]);
    const answer = await echo("hello", [hooking([], { takeChunk: () => given })]);
    expect(answer).toMatchObject({ text: "OTHER" });
  });

  it("leaves calls of other servers alone", async () => {
    await echo("hello", [hooking([])]);
    client.close();
    server.forceShutdown();
    expect(await echo("hello", [])).toEqual({ code: status.OK, text: "hello", ids: [] });
  });
});

it.each(METHODS)("a call without %s is refused", (missing) => {
  class Call {}
  for (const name of METHODS) if (name !== missing) Object.assign(Call.prototype, { [name]: () => undefined });
  const call = new Call() as unknown as InterceptedCall & BaseCall;
  expect(() => hookCall(call, {} as CallHooks)).toThrow(`The calls of grpc-js have no method ${missing}`);
});
