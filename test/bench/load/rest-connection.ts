import { connect, type Socket } from "node:net";
import type { Load, LoadConnection } from "./load.js";

const END_OF_HEADERS = Buffer.from("\r\n\r\n");

/**
 * An HTTP/1.1 client with one persistent connection. It sends the same bytes every time, and looks only at the status
 * and length of each answer.
 */
export class RestConnection implements LoadConnection {
  readonly #port: number;
  readonly #request: Buffer;
  /** The connection. It is replaced when the server has closed it, as servers do with idle connections. */
  #socket: Socket | undefined;
  #head: Buffer = Buffer.alloc(0);
  /** How many bytes of the body are still to come; undefined while the headers are read. */
  #bodyLeft: number | undefined;
  #onAnswer: () => void = () => {};
  #onFailure: (error: Error) => void = () => {};
  #onIdle: (() => void) | undefined;
  #isRunning = false;
  #isOpen = false;

  constructor({ port, path, method }: Load, body: Uint8Array) {
    const head = [`${method} ${path} HTTP/1.1`, `host: 127.0.0.1:${port}`];
    if (method === "POST") head.push("content-type: application/json", `content-length: ${body.length}`);
    this.#request = Buffer.concat([Buffer.from(head.join("\r\n")), END_OF_HEADERS, body]);
    this.#port = port;
  }

  start(onAnswer: () => void, onFailure: (error: Error) => void): void {
    this.#onAnswer = onAnswer;
    this.#onFailure = onFailure;
    this.#isRunning = true;
    if (this.#socket === undefined || this.#socket.closed) this.#socket = this.#connect();
    this.#send();
  }

  stop(): Promise<void> {
    this.#isRunning = false;
    return new Promise((resolve) => {
      if (this.#isOpen) this.#onIdle = resolve;
      else resolve();
    });
  }

  close(): void {
    this.#socket?.destroy();
  }

  #connect(): Socket {
    const socket = connect({ port: this.#port, host: "127.0.0.1", noDelay: true });
    socket.on("error", (error) => this.#onFailure(error));
    socket.on("data", (bytes) => this.#read(bytes));
    socket.on("close", () => {
      if (this.#isOpen) this.#onFailure(new Error("The server closed the connection"));
    });
    return socket;
  }

  #send(): void {
    this.#isOpen = true;
    this.#socket?.write(this.#request);
  }

  #read(bytes: Buffer): void {
    const body = this.#bodyLeft === undefined ? this.#readHead(bytes) : bytes.length;
    if (body === undefined || this.#bodyLeft === undefined) return;
    this.#bodyLeft -= body;
    if (this.#bodyLeft > 0) return;
    this.#bodyLeft = undefined;
    this.#isOpen = false;
    this.#onAnswer();
    if (this.#isRunning) this.#send();
    else this.#onIdle?.();
  }

  /** Returns how many bytes of the body came with the headers; undefined if the headers are incomplete. */
  #readHead(bytes: Buffer): number | undefined {
    this.#head = this.#head.length === 0 ? bytes : Buffer.concat([this.#head, bytes]);
    const end = this.#head.indexOf(END_OF_HEADERS);
    if (end < 0) return undefined;
    const head = this.#head.toString("latin1", 0, end);
    const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
    if (!head.startsWith("HTTP/1.1 200 ") || length === undefined) this.#onFailure(new Error(`Bad answer: ${head}`));
    this.#bodyLeft = Number(length);
    const seen = this.#head.length - end - END_OF_HEADERS.length;
    this.#head = Buffer.alloc(0);
    return seen;
  }
}
