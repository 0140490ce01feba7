import { connect, type Socket } from "node:net";
import { type Random, seededRandom } from "../simulation/random.js";
import { FLAG, FRAME, frame, headerBlock, PREFACE } from "../support/http2-frames.js";

const CALL = {
  ...{ ":method": "POST", ":scheme": "http", ":path": "/sessionpool.v1.MessageService/AppendMessage" },
  ...{ ":authority": "localhost", "content-type": "application/grpc", te: "trailers" },
};
const WATCH = { ...CALL, ":path": "/sessionpool.v1.MessageService/WatchMessages" };
const REST = { ":method": "GET", ":scheme": "http", ":path": "/session", ":authority": "localhost" };
const WATCH_BODY = Buffer.from([0, 0, 0, 0, 3, 0x0a, 1, 0x61]);

const STREAM_IDS = [0, 1, 1, 2, 3, 3, 5, 7, 255, 0x7fff_ffff];
const WINDOW = (by: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(by);
  return bytes;
};

/** Whether this Node takes such clients without ending. Node 20 and 22 have faults of their own in HTTP/2. */
export const TAKES_MALFORMED = Number.parseInt(process.versions.node, 10) >= 24;
export const OLD_NODE = `Node ${process.versions.node} may end by malformed HTTP/2`;

type Piece = (random: Random) => Buffer;

function noise(random: Random, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => random.int(256)));
}

/** Frames that are in order by themselves, though often not where they are sent. */
const VALID: readonly Piece[] = [
  (random) => frame(FRAME.settings, random.pick([0, FLAG.ack]), 0),
  (random) => frame(FRAME.headers, FLAG.endHeaders, random.pick([1, 3, 5]), headerBlock(CALL)),
  (random) => frame(FRAME.headers, FLAG.endHeaders | FLAG.endStream, random.pick([1, 3, 5]), headerBlock(REST)),
  (random) => {
    const id = random.pick([1, 3, 5]);
    const head = frame(FRAME.headers, FLAG.endHeaders, id, headerBlock(WATCH));
    return Buffer.concat([head, frame(FRAME.data, FLAG.endStream, id, WATCH_BODY)]);
  },
  (random) => frame(FRAME.data, random.pick([0, FLAG.endStream]), random.pick([1, 3, 5]), WATCH_BODY),
  (random) =>
    frame(FRAME.headers, FLAG.endHeaders | FLAG.endStream, random.pick([1, 3]), headerBlock({ "x-trailer": "a" })),
  (random) => frame(FRAME.rstStream, 0, random.pick([1, 3, 5]), WINDOW(random.int(16))),
  (random) => frame(FRAME.ping, random.pick([0, FLAG.ack]), 0, Buffer.alloc(8)),
  (random) => frame(FRAME.windowUpdate, 0, random.pick([0, 1, 3]), WINDOW(random.pick([1, 65_535, 0x7fff_ffff]))),
  () => frame(FRAME.goaway, 0, 0, Buffer.alloc(8)),
];

/** Frames and runs of frames that HTTP/2 forbids or that no sound client sends. */
const BROKEN: readonly Piece[] = [
  (random) => frame(FRAME.data, 0, 0, noise(random, 4)),
  (random) => frame(random.int(12), random.int(256), random.pick(STREAM_IDS), noise(random, random.int(40))),
  (random) => frame(FRAME.headers, FLAG.endHeaders, random.pick(STREAM_IDS), noise(random, random.int(60))),
  (random) => frame(FRAME.headers, random.int(256), random.pick(STREAM_IDS), headerBlock(random.pick([CALL, REST]))),
  (random) => frame(FRAME.continuation, random.pick([0, FLAG.endHeaders]), random.pick(STREAM_IDS), noise(random, 9)),
  () => frame(FRAME.pushPromise, FLAG.endHeaders, 1, Buffer.concat([WINDOW(2), headerBlock(REST)])),
  (random) => frame(FRAME.settings, 0, 0, noise(random, random.pick([1, 6, 6, 12, 18]))),
  (random) => frame(FRAME.settings, 0, 0, Buffer.from([0, random.pick([1, 2, 3, 4, 5, 6]), 255, 255, 255, 255])),
  (random) => frame(FRAME.ping, 0, random.pick([0, 1]), noise(random, random.pick([7, 9]))),
  (random) => frame(FRAME.windowUpdate, 0, random.pick([0, 1]), WINDOW(random.pick([0, 0x7fff_ffff]))),
  (random) => frame(FRAME.priority, 0, 1, random.pick([WINDOW(1), Buffer.from([0, 0, 0, 1, 9])])),
  (random) => frame(FRAME.goaway, 0, random.pick([0, 1]), noise(random, random.int(20))),
  () => frame(FRAME.data, 0, 1, Buffer.alloc(20_000)),
  (random) => largeHeaders(random.pick([1, 3]), random.pick([20_000, 70_000, 200_000])),
  (random) => {
    const id = random.pick([1, 3]);
    const open = frame(FRAME.headers, 0, id, headerBlock(REST));
    return Buffer.concat([open, ...Array.from({ length: 12 }, () => frame(FRAME.continuation, 0, id))]);
  },
  () => Buffer.concat(Array.from({ length: 100 }, () => frame(FRAME.ping, 0, 0, Buffer.alloc(8)))),
  () => Buffer.concat(Array.from({ length: 100 }, () => frame(FRAME.settings, 0, 0))),
  () =>
    Buffer.concat(
      Array.from({ length: 50 }, (_, i) => [
        frame(FRAME.headers, FLAG.endHeaders, 2 * i + 7, headerBlock(CALL)),
        frame(FRAME.rstStream, 0, 2 * i + 7, WINDOW(8)),
      ]).flat(),
    ),
];

/** Returns a request whose only header of its own has this many bytes, in as many frames as it takes. */
export function largeHeaders(streamId: number, bytes: number, fields = 1): Buffer {
  const each = "a".repeat(Math.ceil(bytes / fields));
  const more = Object.fromEntries(Array.from({ length: fields }, (_, i) => [`x-large-${i}`, each]));
  const block = headerBlock({ ...CALL, ...more });
  const frames: Buffer[] = [];
  for (let at = 0; at < block.length; at += 16_000) {
    const flags = at + 16_000 < block.length ? 0 : FLAG.endHeaders;
    frames.push(frame(at === 0 ? FRAME.headers : FRAME.continuation, flags, streamId, block.subarray(at, at + 16_000)));
  }
  return Buffer.concat(frames);
}

/** Returns everything that one malformed client sends, and how it leaves. The same seed gives the same. */
function malformedConnection(seed: number): { bytes: Buffer; leave: (socket: Socket) => void } {
  const random = seededRandom(seed);
  const pieces: Buffer[] = [PREFACE];
  if (random.int(20) > 0) pieces.push(frame(FRAME.settings, 0, 0));
  for (let left = random.int(5); left > 0; left -= 1) pieces.push(random.pick(VALID)(random));
  for (let left = 1 + random.int(3); left > 0; left -= 1)
    pieces.push(random.pick(random.int(3) === 0 ? VALID : BROKEN)(random));
  let bytes: Buffer = Buffer.concat(pieces);
  // A part of all connections is damaged once more, wherever that may be.
  if (random.int(4) === 0) bytes[PREFACE.length + random.int(bytes.length - PREFACE.length + 1)] = random.int(256);
  if (random.int(8) === 0) bytes = bytes.subarray(0, PREFACE.length + random.int(bytes.length - PREFACE.length + 1));
  const leave = random.pick([
    (socket: Socket) => socket.destroy(),
    (socket: Socket) => socket.resetAndDestroy(),
    (socket: Socket) => socket.end(),
  ]);
  return { bytes, leave };
}

/**
 * Makes one malformed connection to a port of loopback. Resolves when it has ended; the client leaves after a few
 * milliseconds, unless the server ends it before.
 */
export function connectMalformed(port: number, seed: number): Promise<void> {
  return new Promise((resolve) => {
    const { bytes, leave } = malformedConnection(seed);
    const socket = connect(port, "127.0.0.1", () => {
      socket.write(bytes);
      setTimeout(() => leave(socket), seed % 8);
    });
    // A server that has not ended the connection some time after the client would show in the count of its sockets.
    const timer = setTimeout(() => socket.destroy(), 200);
    socket.on("error", () => undefined).resume();
    socket.once("close", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
