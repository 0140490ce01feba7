import { Code, ConnectError } from "@connectrpc/connect";
import type { Rest } from "./rest.js";
import { delayAfter, errorOfCall, isTransient, pause, withRetries } from "./retry.js";

export interface DownloadOptions {
  /** How many bytes to skip. */
  readonly offset?: number;
  /** How many bytes to read at most, 1 or more; all that follow when absent. */
  readonly length?: number;
  /**
   * Called with the bytes read so far, and the number of all that are read. What it throws ends the download, and is
   * thrown as it is.
   */
  readonly onProgress?: (readBytes: number, totalBytes: number) => void;
  /** Ends the download, also while its bytes are read. */
  readonly signal?: AbortSignal;
}

/** What the headers of a download say of its attachment. */
export interface DownloadedAttachment {
  readonly attachmentId: string;
  readonly mediaType: string;
  /** Without what is not safe in the name of a file. */
  readonly name: string;
  readonly size: number;
  readonly sha256: string;
}

/** How a download asks for its bytes. */
interface Source {
  readonly open: (headers: Readonly<Record<string, string>>) => Promise<Response>;
  readonly retries: number;
}

/**
 * An attachment whose bytes arrive while they are read, which is possible once, in one of these ways. A connection that
 * breaks is resumed where it broke. Read it, or cancel it, because it holds a connection.
 */
export class Download {
  readonly attachment: DownloadedAttachment;
  /** Where the bytes begin in the attachment, and how many they are. */
  readonly offset: number;
  readonly length: number;
  readonly #source: Source;
  readonly #options: DownloadOptions;
  #answer: Response | undefined;

  /** Called by `downloadAttachment`, which callers use instead. */
  constructor(source: Source, attachmentId: string, answer: Response, options: DownloadOptions) {
    this.#source = source;
    this.#options = options;
    this.#answer = answer;
    const { headers } = answer;
    const [, from = "0", size = headers.get("content-length")] =
      /^bytes (\d+)-\d+\/(\d+)$/.exec(headers.get("content-range") ?? "") ?? [];
    this.attachment = {
      attachmentId,
      mediaType: headers.get("content-type") ?? "",
      name: nameIn(headers.get("content-disposition") ?? ""),
      size: Number(size),
      sha256: /[0-9a-f]{64}/.exec(headers.get("etag") ?? "")?.[0] ?? "",
    };
    this.offset = Number(from);
    this.length = Number(headers.get("content-length"));
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
    let read = 0;
    for await (const chunk of this.#chunks()) {
      read += chunk.length;
      this.#options.onProgress?.(read, this.length);
      yield chunk;
    }
  }

  stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    const chunks = this[Symbol.asyncIterator]();
    return new ReadableStream(
      {
        async pull(controller) {
          const { done, value } = await chunks.next();
          if (done === true) controller.close();
          else controller.enqueue(value);
        },
        async cancel() {
          await chunks.return();
        },
      },
      { highWaterMark: 0 },
    );
  }

  /** All bytes. Of a whole attachment, the SHA-256 is checked where there is Web Crypto: `data_loss` if it differs. */
  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = new Uint8Array(this.length);
    let at = 0;
    for await (const chunk of this) {
      bytes.set(chunk, at);
      at += chunk.length;
    }
    const { attachmentId, size, sha256 } = this.attachment;
    const isWhole = this.length === size && sha256 !== "";
    if (isWhole && globalThis.crypto?.subtle !== undefined && (await sha256Of(bytes)) !== sha256)
      throw new ConnectError(`The bytes of attachment ${JSON.stringify(attachmentId)} were damaged`, Code.DataLoss);
    return bytes;
  }

  /** All bytes, as `bytes` returns them, with the media type. */
  async blob(): Promise<Blob> {
    return new Blob([await this.bytes()], { type: this.attachment.mediaType });
  }

  /** All bytes, as `bytes` returns them, read as UTF-8. */
  async text(): Promise<string> {
    return new TextDecoder().decode(await this.bytes());
  }

  /** Ends a download that nobody reads. */
  async cancel(): Promise<void> {
    await this.#take().body?.cancel();
  }

  /** The bytes, also over connections that break. What their reader throws is no failure of a connection. */
  async *#chunks(): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
    let answer = this.#take();
    let read = 0;
    for (let failures = 0; ; ) {
      try {
        for await (const chunk of chunksOf(answer)) {
          read += chunk.length;
          failures = 0;
          if (read > this.length) throw new ConnectError("There are more bytes than announced", Code.DataLoss);
          yield chunk;
        }
        if (read === this.length) return;
        throw new ConnectError("The connection was lost", Code.Unavailable);
      } catch (thrown) {
        const error = errorOfCall(thrown, this.#options.signal);
        if (!isTransient(error) || failures >= this.#source.retries) throw error;
        await pause(delayAfter(error, failures++), this.#options.signal);
      }
      answer = await this.#resume(read);
    }
  }

  #take(): Response {
    const answer = this.#answer;
    if (answer === undefined) throw new TypeError("A download can be read once");
    this.#answer = undefined;
    return answer;
  }

  /** Continues with the byte after those that were read. */
  async #resume(read: number): Promise<Response> {
    const from = this.offset + read;
    const range = `bytes=${from}-${this.offset + this.length - 1}`;
    const answer = await this.#source.open({ Range: range, "If-Range": `"${this.attachment.sha256}"` });
    if (answer.headers.get("content-range") === `bytes ${range.slice("bytes=".length)}/${this.attachment.size}`)
      return answer;
    await answer.body?.cancel();
    throw new ConnectError("The attachment was replaced while it was read", Code.Aborted);
  }
}

export async function download(
  rest: Rest,
  retries: number,
  sessionId: string,
  attachmentId: string,
  options: DownloadOptions = {},
): Promise<Download> {
  const { offset = 0, length, signal } = options;
  checkCount("offset", offset, 0);
  if (length !== undefined) checkCount("length", length, 1);
  const path = `/session/${encodeURIComponent(sessionId)}/attachment/${encodeURIComponent(attachmentId)}`;
  const open = (headers: Readonly<Record<string, string>>) =>
    withRetries({ retries, signal }, () => rest({ path, headers, ...(signal !== undefined && { signal }) }));
  const isRange = offset > 0 || length !== undefined;
  const range: Record<string, string> = isRange
    ? { Range: `bytes=${offset}-${length === undefined ? "" : offset + length - 1}` }
    : {};
  return new Download({ open, retries }, attachmentId, await open(range), options);
}

function checkCount(name: string, value: number, least: number): void {
  if (!Number.isSafeInteger(value) || value < least)
    throw new RangeError(`${name} must be a whole number of at least ${least}, and is ${value}`);
}

/** The bytes of an answer. Ends the connection when the reader stops early. */
async function* chunksOf({ body }: Response): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
  const reader = body?.getReader();
  try {
    for (let next = await reader?.read(); next?.done === false; next = await reader?.read()) yield next.value;
  } finally {
    // Fails after a lost connection, which a read has thrown already, or nobody asks about.
    await reader?.cancel().catch(() => {});
  }
}

/** The name in a Content-Disposition: that of RFC 8187 if there is one. */
function nameIn(disposition: string): string {
  const extended = /filename\*=UTF-8''([^;]*)/i.exec(disposition)?.[1];
  if (extended !== undefined) return decodeURIComponent(extended);
  return /filename="((?:[^"\\]|\\.)*)"/i.exec(disposition)?.[1]?.replace(/\\(.)/g, "$1") ?? "";
}

async function sha256Of(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
