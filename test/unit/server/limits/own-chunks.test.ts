import { createServer, type Http2Server, type ServerHttp2Stream } from "node:http2";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, expect, it } from "vitest";
import { CHUNK_BYTES, ownChunks, ownWaitingChunks } from "../../../../src/server/limits/own-chunks.js";
import { FLAG, FRAME, frame, headerBlock, PREFACE } from "../../../support/http2-frames.js";
import { poll } from "../../../support/poll.js";

const HEADERS = headerBlock({ ":method": "POST", ":scheme": "http", ":path": "/", ":authority": "localhost" });
const JUNK = frame(FRAME.unknown, 0, 0, Buffer.alloc(16_000));

let server: Http2Server;
let socket: Socket;
const chunks: Buffer[] = [];

afterEach(() => {
  socket.destroy();
  server.close();
});

it("keeps only the body in memory, and not the other frames that arrived in the same read", async () => {
  await connectTo((stream) => {
    ownChunks(stream);
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  });
  for (const text of ["a", "b", "long".repeat(2000)]) {
    const before = chunks.length;
    socket.write(Buffer.concat([JUNK, frame(FRAME.data, 0, 1, Buffer.from(text)), JUNK]));
    await poll(() => Buffer.concat(chunks.slice(before)).toString() === text, "it arrives");
  }
  for (const chunk of chunks) expect(chunk.buffer.byteLength).toBeLessThanOrEqual(chunk.length + CHUNK_BYTES);
});

it("does so for what waits until somebody reads it", async () => {
  let waiting: ServerHttp2Stream | undefined;
  await connectTo((stream) => {
    ownWaitingChunks(stream);
    waiting = stream.pause();
  });
  await poll(() => waiting !== undefined, "the stream begins");
  socket.write(Buffer.concat([JUNK, frame(FRAME.data, 0, 1, Buffer.from("a")), JUNK]));
  await poll(() => waiting?.readableLength === 1, "it arrives");
  const chunk = waiting?.read() as Buffer;
  expect(chunk.toString()).toBe("a");
  expect(chunk.buffer.byteLength).toBeLessThanOrEqual(chunk.length + CHUNK_BYTES);
});

async function connectTo(onStream: (stream: ServerHttp2Stream) => void): Promise<void> {
  server = createServer().on("session", (session) => session.on("stream", onStream));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  socket = connect((server.address() as AddressInfo).port, "127.0.0.1").resume();
  socket.write(
    Buffer.concat([PREFACE, frame(FRAME.settings, 0, 0), frame(FRAME.headers, FLAG.endHeaders, 1, HEADERS)]),
  );
}
