import { connect, type Socket } from "node:net";
import type { Load, LoadConnection } from "./load.js";

const EMPTY = Buffer.alloc(0);
const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const FRAME_HEADER_BYTES = 9;
const MAX_WINDOW = 2 ** 31 - 1;
const FIRST_WINDOW = 65_535;
const END_STREAM = 0x1;
const ACK = 0x1;
const END_HEADERS = 0x4;

const FRAME = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goAway: 7, windowUpdate: 8 } as const;
const HEADER_TABLE_SIZE = 1;
const INITIAL_WINDOW_SIZE = 4;

/**
 * A gRPC client that needs only a fraction of the time that its server needs, so that the server is what is measured.
 * It sends the same bytes every time, and reads only the frames of the answers. An answer that ends without a message
 * is a failure.
 */
export class GrpcConnection implements LoadConnection {
  readonly #socket: Socket;
  readonly #outstanding: number;
  readonly #headers: Buffer;
  readonly #message: Buffer;
  #unread: Buffer = Buffer.alloc(0);
  #nextStream = 1;
  #sendWindow = FIRST_WINDOW;
  #consumed = 0;
  /** How many bytes of its answer each open stream has received. */
  readonly #open = new Map<number, number>();
  #waiting = 0;
  #onAnswer: () => void = () => {};
  #onFailure: (error: Error) => void = () => {};
  #onIdle: (() => void) | undefined;
  #isRunning = false;

  constructor({ port, path, outstanding }: Load, body: Uint8Array) {
    this.#outstanding = outstanding;
    this.#headers = headerBlock(path, port);
    this.#message = Buffer.concat([Buffer.from([0]), uint32(body.length), body]);
    this.#socket = connect({ port, host: "127.0.0.1", noDelay: true });
    this.#socket.on("error", (error) => this.#onFailure(error));
    this.#socket.on("close", () => this.#onFailure(new Error("The server closed the connection")));
    this.#socket.on("data", (bytes) => this.#read(bytes));
    const settings = Buffer.concat([setting(HEADER_TABLE_SIZE, 0), setting(INITIAL_WINDOW_SIZE, MAX_WINDOW)]);
    this.#socket.write(
      Buffer.concat([
        PREFACE,
        frame(FRAME.settings, 0, 0, settings),
        frame(FRAME.windowUpdate, 0, 0, uint32(MAX_WINDOW - FIRST_WINDOW)),
      ]),
    );
  }

  start(onAnswer: () => void, onFailure: (error: Error) => void): void {
    this.#onAnswer = onAnswer;
    this.#onFailure = onFailure;
    this.#isRunning = true;
    this.#waiting = this.#outstanding;
    this.#send();
  }

  stop(): Promise<void> {
    this.#isRunning = false;
    this.#waiting = 0;
    return new Promise((resolve) => {
      if (this.#open.size === 0) resolve();
      else this.#onIdle = resolve;
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  /** Sends as many of the waiting requests as the window allows. */
  #send(): void {
    const frames: Buffer[] = [];
    while (this.#waiting > 0 && this.#sendWindow >= this.#message.length) {
      const stream = this.#nextStream;
      this.#nextStream += 2;
      this.#waiting -= 1;
      this.#sendWindow -= this.#message.length;
      this.#open.set(stream, 0);
      frames.push(frame(FRAME.headers, END_HEADERS, stream, this.#headers));
      frames.push(frame(FRAME.data, END_STREAM, stream, this.#message));
    }
    if (frames.length > 0) this.#socket.write(Buffer.concat(frames));
  }

  #read(bytes: Buffer): void {
    let rest = this.#unread.length === 0 ? bytes : Buffer.concat([this.#unread, bytes]);
    while (rest.length >= FRAME_HEADER_BYTES) {
      const length = rest.readUIntBE(0, 3);
      if (rest.length < FRAME_HEADER_BYTES + length) break;
      const payload = rest.subarray(FRAME_HEADER_BYTES, FRAME_HEADER_BYTES + length);
      this.#onFrame(rest[3] as number, rest[4] as number, rest.readUInt32BE(5) & MAX_WINDOW, payload);
      rest = rest.subarray(FRAME_HEADER_BYTES + length);
    }
    this.#unread = rest;
    this.#send();
  }

  #onFrame(type: number, flags: number, stream: number, payload: Buffer): void {
    switch (type) {
      case FRAME.data:
        this.#open.set(stream, (this.#open.get(stream) ?? 0) + payload.length);
        this.#giveWindow(payload.length);
        break;
      case FRAME.headers:
        if ((flags & END_STREAM) !== 0) this.#end(stream);
        break;
      case FRAME.reset:
        this.#end(stream, new Error(`The server reset a call: ${payload.readUInt32BE(0)}`));
        break;
      case FRAME.settings:
      case FRAME.ping:
        if ((flags & ACK) === 0) this.#socket.write(frame(type, ACK, 0, type === FRAME.ping ? payload : EMPTY));
        break;
      case FRAME.goAway:
        this.#onFailure(new Error("The server ended the connection"));
        break;
      case FRAME.windowUpdate:
        if (stream === 0) this.#sendWindow += payload.readUInt32BE(0);
    }
  }

  #end(stream: number, failure?: Error): void {
    const bytes = this.#open.get(stream) ?? 0;
    this.#open.delete(stream);
    if (failure !== undefined || bytes === 0)
      this.#onFailure(failure ?? new Error("A call was answered with an error"));
    else this.#onAnswer();
    if (this.#isRunning) this.#waiting += 1;
    else if (this.#open.size === 0) this.#onIdle?.();
  }

  /** Enlarges the window long before the server would have to wait. */
  #giveWindow(bytes: number): void {
    this.#consumed += bytes;
    if (this.#consumed < MAX_WINDOW / 4) return;
    this.#socket.write(frame(FRAME.windowUpdate, 0, 0, uint32(this.#consumed)));
    this.#consumed = 0;
  }
}

/** Encodes the headers without HPACK's dynamic table, so that they are the same bytes in every request. */
function headerBlock(path: string, port: number): Buffer {
  const POST = 0x83;
  const HTTP = 0x86;
  const PATH = 0x04;
  const AUTHORITY = 0x01;
  return Buffer.concat([
    Buffer.from([POST, HTTP, PATH]),
    text(path),
    Buffer.from([AUTHORITY]),
    text(`127.0.0.1:${port}`),
    literal("content-type", "application/grpc"),
    literal("te", "trailers"),
  ]);
}

function literal(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.from([0]), text(name), text(value)]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  if (bytes.length > 126) throw new RangeError(`The header is too long for a length of one byte: ${value}`);
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(FRAME_HEADER_BYTES + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes[3] = type;
  bytes[4] = flags;
  bytes.writeUInt32BE(stream, 5);
  payload.copy(bytes, FRAME_HEADER_BYTES);
  return bytes;
}

function setting(id: number, value: number): Buffer {
  return Buffer.concat([Buffer.from([0, id]), uint32(value)]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
