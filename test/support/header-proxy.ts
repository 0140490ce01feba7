import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { Transform } from "node:stream";
import { FLAG, FRAME, frame, headerBlock, PREFACE } from "./http2-frames.js";

/** Passes HTTP/2 connections on and adds headers to each request, also ones that no client of Node's would repeat. */
export class HeaderProxy {
  readonly address: string;
  readonly #close: () => void;

  private constructor(port: number, close: () => void) {
    this.address = `127.0.0.1:${port}`;
    this.#close = close;
  }

  static async start(targetPort: number, added: Readonly<Record<string, string>>): Promise<HeaderProxy> {
    const server = createServer((client) => {
      const target = connect(targetPort, "127.0.0.1");
      client.on("error", () => target.destroy()).on("close", () => target.destroy());
      target.on("error", () => client.destroy()).on("close", () => client.destroy());
      client.pipe(new HeaderAdder(headerBlock(added))).pipe(target);
      target.pipe(client);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new HeaderProxy((server.address() as AddressInfo).port, () => server.close());
  }

  /** Accepts no further connections. */
  close(): void {
    this.#close();
  }
}

/** Appends a block of headers to each frame of headers that a client sends. */
class HeaderAdder extends Transform {
  readonly #block: Buffer;
  #rest = Buffer.alloc(0);
  #isAfterPreface = false;

  constructor(block: Buffer) {
    super();
    this.#block = block;
  }

  override _transform(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    if (!this.#isAfterPreface && this.#rest.length >= PREFACE.length) {
      this.push(this.#take(PREFACE.length));
      this.#isAfterPreface = true;
    }
    while (this.#isAfterPreface && this.#rest.length >= 9) {
      const end = 9 + this.#rest.readUIntBE(0, 3);
      if (this.#rest.length < end) break;
      this.push(this.#changed(this.#take(end)));
    }
    done();
  }

  #take(length: number): Buffer {
    const taken = this.#rest.subarray(0, length);
    this.#rest = this.#rest.subarray(length);
    return taken;
  }

  #changed(bytes: Buffer): Buffer {
    const [type, flags] = [bytes[3]!, bytes[4]!];
    if (type !== FRAME.headers) return bytes;
    if ((flags & FLAG.endHeaders) === 0 || (flags & FLAG.padded) !== 0) throw new Error("Unexpected kind of headers");
    return frame(type, flags, bytes.readUInt32BE(5), Buffer.concat([bytes.subarray(9), this.#block]));
  }
}
