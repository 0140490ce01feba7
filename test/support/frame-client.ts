import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { FLAG, FRAME, frame, PREFACE } from "./http2-frames.js";
import { poll } from "./poll.js";

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

/** An HTTP/2 client that sends whatever bytes it is given, and keeps the frames that come back. */
export class FrameClient {
  readonly frames: Frame[] = [];
  readonly socket: Socket;
  #rest: Buffer = Buffer.alloc(0);
  isClosed = false;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.once("close", () => {
      this.isClosed = true;
    });
  }

  /** Connects to a port of loopback and sends the preface and empty settings. */
  static open(port: number, { tls = false }: { readonly tls?: boolean } = {}): FrameClient {
    const socket = tls
      ? connectTls({ port, host: "127.0.0.1", ALPNProtocols: ["h2"], rejectUnauthorized: false })
      : connect(port, "127.0.0.1");
    const client = new FrameClient(socket);
    client.send(PREFACE, frame(FRAME.settings, 0, 0));
    return client;
  }

  send(...pieces: readonly Buffer[]): void {
    this.socket.write(Buffer.concat(pieces));
  }

  /** Confirms the server's settings, which Node keeps to from then on. */
  async confirmSettings(): Promise<void> {
    await this.awaitFrame(({ type, flags }) => type === FRAME.settings && flags === 0);
    this.send(frame(FRAME.settings, FLAG.ack, 0));
  }

  /** Resolves to the first frame that is like this, also one that has come before. */
  async awaitFrame(isIt: (one: Frame) => boolean): Promise<Frame> {
    await poll(() => this.isClosed || this.frames.some(isIt), "the frame comes");
    const found = this.frames.find(isIt);
    if (found === undefined) throw new Error("The server ended the connection without the frame");
    return found;
  }

  awaitClose(): Promise<void> {
    return poll(() => this.isClosed, "the server ends the connection");
  }

  #take(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    for (;;) {
      if (this.#rest.length < 9) return;
      const end = 9 + this.#rest.readUIntBE(0, 3);
      if (this.#rest.length < end) return;
      const [type, flags] = [this.#rest[3] as number, this.#rest[4] as number];
      const streamId = this.#rest.readUInt32BE(5);
      this.frames.push({ type, flags, streamId, payload: this.#rest.subarray(9, end) });
      this.#rest = this.#rest.subarray(end);
    }
  }
}
