import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from "node:http2";
import { connect as connectTcp, type Socket } from "node:net";
import { Worker } from "node:worker_threads";
import { FLAG, FRAME, frame, headerBlock, PREFACE } from "../support/http2-frames.js";
import { connectMalformed, largeHeaders } from "./malformed.js";
import { KEYS, LARGE_SESSION, type Target } from "./target.js";

/** An attack that continues until it is stopped. */
export interface Attack {
  readonly stop: () => void;
  /**
   * Returns how often the server has refused the attack so far: with an error, or by ending a stream or a connection.
   */
  readonly refused: () => number;
}

/** Sends bodies that are declared as 9 MiB and stop one byte short, on many streams of one connection. */
export function holdBodies(url: string, headers: Readonly<Record<string, string>>, streams = 250): Attack {
  const declared = 9 * 1024 * 1024;
  const body = Buffer.alloc(declared - 1, 0x20);
  if (headers["content-type"]?.startsWith("application/grpc")) body.writeUInt32BE(declared - 5, 1);
  const attacker = new Attacker(url);
  for (let i = 0; i < streams; i += 1) attacker.open(headers).write(body);
  return attacker;
}

/** An attack that counts the bytes it has sent. */
export interface SendingAttack extends Attack {
  readonly sentBytes: () => number;
}

/**
 * Sends bodies byte by byte on many streams of one connection. Before each byte it sends 64 KB of frames that a server
 * ignores.
 */
export function sendSparseBodies(url: string, headers: Readonly<Record<string, string>>, streams = 100): SendingAttack {
  const ids = Array.from({ length: streams }, (_, i) => 2 * i + 1);
  const block = headerBlock({ ":scheme": "http", ":authority": "localhost", ...headers });
  const declared = Buffer.from([0, 0, 0, 3, 0xe8]);
  const junk = Buffer.alloc(4 * 16_000, frame(FRAME.unknown, 0, 0, Buffer.alloc(16_000 - 9)));
  let sentBytes = 0;
  const held = holdSockets(url, 1, (socket) => {
    socket.write(Buffer.concat([PREFACE, frame(FRAME.settings, 0, 0)]));
    for (const id of ids) socket.write(frame(FRAME.headers, FLAG.endHeaders, id, block));
    for (const id of ids) socket.write(frame(FRAME.data, 0, id, declared));
    let turn = 0;
    const send = (): void => {
      while (!socket.destroyed) {
        const bytes = Buffer.concat([junk, frame(FRAME.data, 0, ids[turn % streams] as number, Buffer.from([0x20]))]);
        turn += 1;
        sentBytes += bytes.length;
        if (!socket.write(bytes)) return;
      }
    };
    // setImmediate lets the observed client, which is in the same process, run in between.
    socket.on("drain", () => setImmediate(send)).resume();
    send();
  });
  return { ...held, sentBytes: () => sentBytes };
}

/** Returns the headers of a gRPC call. */
export function grpcHeaders(path: string, key?: string): Record<string, string> {
  const headers = { ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" };
  return key === undefined ? headers : { ...headers, authorization: `Bearer ${key}` };
}

/** Returns the headers of a POST request to REST or Connect. */
export function postHeaders(path: string, type: string, key: string): Record<string, string> {
  return { ":method": "POST", ":path": path, "content-type": type, authorization: `Bearer ${key}` };
}

/**
 * Watches the health of ten services at a time. Each has a new name of this length, and each watch is ended after its
 * first event.
 */
export function watchNewNames(url: string, nameBytes: number): Attack {
  const attacker = new Attacker(url);
  let names = 0;
  const next = (): void => {
    names += 1;
    const name = Buffer.alloc(nameBytes, String(names).padEnd(12, "n"));
    const stream = attacker.open(grpcHeaders("/grpc.health.v1.Health/Watch"));
    stream.once("data", () => stream.close());
    stream.once("close", () => {
      if (!attacker.isStopped) setTimeout(next, 5);
    });
    stream.end(enveloped(Buffer.concat([Buffer.from([0x0a]), varint(name.length), name])));
  };
  for (let i = 0; i < 10; i += 1) next();
  return attacker;
}

/** Requests pages of about 3 MiB on one HTTP/2 connection, and reads none of them. */
export function leaveUnread(target: Target, streams = 250): Attack {
  const attacker = new Attacker(target.grpcUrl);
  const id = Buffer.from(LARGE_SESSION);
  const request = enveloped(Buffer.concat([Buffer.from([0x0a, id.length]), id]));
  for (let i = 0; i < streams; i += 1) {
    const stream = attacker.open(grpcHeaders("/sessionpool.v1.MessageService/ListMessages", KEYS.hostile));
    stream.pause();
    stream.end(request);
  }
  return attacker;
}

/** Requests such pages over HTTP/1.1 on many connections, one or several on each, and reads none of them. */
export function leaveUnreadSockets(target: Target, count = 150, pages = 1): Attack {
  const request = [
    `GET /session/${LARGE_SESSION}/message HTTP/1.1`,
    "Host: localhost",
    `Authorization: Bearer ${KEYS.hostile}`,
    "\r\n",
  ].join("\r\n");
  return holdSockets(target.httpUrl, count, (socket) => {
    socket.pause();
    socket.write(request.repeat(pages));
  });
}

/** Sends wrong keys without a pause on `count` connections, from an address that no other client has. */
export function guessKeys(url: string, from: string, count = 100): Attack {
  const refused = new SharedArrayBuffer(4);
  const worker = new Worker(new URL("guess-worker.mjs", import.meta.url), {
    workerData: { url, from, count, refused },
  });
  return { stop: () => void worker.terminate(), refused: () => Atomics.load(new Int32Array(refused), 0) };
}

/**
 * Sends requests for a host that is not this machine, as a web page does whose name was rebound by DNS. Each connection
 * repeats its request.
 */
export function askByOtherHost(url: string, count = 100): Attack {
  let refused = 0;
  const held = holdSockets(url, count, (socket) => {
    const ask = () =>
      socket.write("GET /session HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\n\r\n");
    socket.on("data", (chunk) => {
      if (!/^HTTP\/1\.1 4/.test(chunk.toString("latin1"))) return;
      refused += 1;
      // Without a pause the attacker would starve the other client, which is in the same process.
      setTimeout(ask, 100);
    });
    ask();
  });
  return { stop: held.stop, refused: () => refused + held.refused() };
}

/** Sends headers of 100 KB on each connection: in one header, or in many. */
export function sendLargeHeaders(url: string, fields: number, count = 20): Attack {
  const request = Buffer.concat([PREFACE, frame(FRAME.settings, 0, 0), largeHeaders(1, 100_000, fields)]);
  return holdSockets(url, count, (socket) => {
    socket.resume();
    socket.write(request);
    // Without a pause the attacker would starve the other client, which is in the same process.
    setTimeout(() => socket.destroy(), 200);
  });
}

/** Makes malformed connections to a port, some at a time, each with frames of its own. */
export function connectBroken(url: string, firstSeed: number, atATime = 10): Attack {
  const port = Number(new URL(url).port);
  let seed = firstSeed;
  let isStopped = false;
  const next = async (): Promise<void> => {
    while (!isStopped) await connectMalformed(port, seed++);
  };
  for (let i = 0; i < atATime; i += 1) void next();
  return {
    refused: () => seed - firstSeed,
    stop: () => {
      isStopped = true;
    },
  };
}

/** Opens connections and sends nothing on them. A connection that the server ends is replaced. */
export function staySilent(url: string, count: number): Attack {
  return holdSockets(url, count, (socket) => socket.resume());
}

function holdSockets(url: string, count: number, begin: (socket: Socket) => void): Attack {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  let ended = 0;
  let isStopped = false;
  const open = (): void => {
    const socket = connectTcp({ port: Number(port), host: hostname }, () => begin(socket));
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("close", () => {
      sockets.delete(socket);
      if (isStopped) return;
      ended += 1;
      setTimeout(() => isStopped || open(), 50);
    });
  };
  for (let i = 0; i < count; i += 1) open();
  return {
    refused: () => ended,
    stop: () => {
      isStopped = true;
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** An HTTP/2 client that counts refused streams, and connects again when its connection has ended. */
class Attacker implements Attack {
  readonly #url: string;
  #session: ClientHttp2Session;
  #refused = 0;
  isStopped = false;

  constructor(url: string) {
    this.#url = url;
    this.#session = this.#connect();
  }

  readonly refused = (): number => this.#refused;

  readonly stop = (): void => {
    this.isStopped = true;
    this.#session.destroy();
  };

  open(headers: Readonly<Record<string, string>>): ClientHttp2Stream {
    if (this.#session.destroyed || this.#session.closed) this.#session = this.#connect();
    const stream = this.#session.request(headers);
    let isRefused = false;
    stream.on("error", () => undefined);
    stream.on("response", (answer) => {
      const code = answer["grpc-status"];
      isRefused = Number(answer[":status"]) >= 400 || (code !== undefined && code !== "0");
    });
    stream.once("end", () => {
      if (stream.writableFinished) return;
      // The server has closed the stream before it had the whole body. Node would wait for ever until that is sent.
      isRefused = true;
      stream.destroy();
    });
    stream.once("close", () => {
      if (!this.isStopped && (isRefused || stream.rstCode !== 0)) this.#refused += 1;
    });
    return stream;
  }

  #connect(): ClientHttp2Session {
    const session = connectHttp2(this.#url, { settings: { initialWindowSize: 65_535 } });
    session.on("error", () => undefined);
    return session;
  }
}

/** A message in the frame that gRPC puts around it. */
export function enveloped(message: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

export function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let left = value; ; left = Math.floor(left / 128)) {
    if (left < 128) return Buffer.from([...bytes, left]);
    bytes.push((left % 128) | 0x80);
  }
}
