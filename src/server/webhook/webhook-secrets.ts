import { createHmac } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import type { Logger } from "../logging.js";
import { type WatchedFiles, watchFiles } from "../watched-files.js";

/** How Standard Webhooks writes secrets. Node.js decodes more, which the libraries of receivers refuse. */
const SECRET = /^whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/;
const LEAST_BYTES = 24;
const MOST_BYTES = 64;
/** The permission of everybody to read a file. */
const READ_BY_ALL = 0o004;

/**
 * The secrets of a file, one on each line, read again whenever it changes. Each of them signs, so that a receiver may
 * know any of them. While the file cannot be used, the previous secrets stay.
 */
export class WebhookSecrets {
  readonly #watched: WatchedFiles;
  #keys: readonly Buffer[];

  /** Throws an Error with a one-line message when the file cannot be used. */
  constructor(path: string, logger: Logger) {
    const read = () => {
      this.#keys = readKeys(path);
      logger.info({ secrets: this.#keys.length }, "Webhook secret file read again");
    };
    const failure = "Webhook secret file cannot be used; the secrets from before stay in use until it can";
    this.#watched = watchFiles([path], { read, failure, logger });
    try {
      this.#keys = readKeys(path);
    } catch (error) {
      this.#watched.close();
      throw error;
    }
  }

  /** The value of the header `webhook-signature`. */
  sign(id: string, timestamp: number, body: string): string {
    const content = `${id}.${timestamp}.${body}`;
    return this.#keys.map((key) => `v1,${createHmac("sha256", key).update(content).digest("base64")}`).join(" ");
  }

  reload(): void {
    this.#watched.reload();
  }

  close(): void {
    this.#watched.close();
  }
}

function readKeys(path: string): readonly Buffer[] {
  const where = `Webhook secret file ${path}`;
  let content: string;
  let mode: number;
  try {
    content = readFileSync(path, "utf8");
    mode = statSync(path).mode;
  } catch (cause) {
    throw new Error(`${where} cannot be read: ${(cause as Error).message}`, { cause });
  }
  if ((mode & READ_BY_ALL) !== 0)
    throw new Error(`${where} can be read by every user of this machine; chmod 600 keeps them out`);
  const lines = content.split("\n").map((line) => line.trim());
  const keys = lines.filter((line) => line !== "").map((line) => keyOf(line, where));
  if (keys.length === 0) throw new Error(`${where} holds no secret`);
  return keys;
}

/** The error does not show the secret. */
function keyOf(line: string, where: string): Buffer {
  const key = Buffer.from(SECRET.exec(line)?.[1] ?? "", "base64");
  if (key.length < LEAST_BYTES || key.length > MOST_BYTES)
    throw new Error(
      `${where}: a secret must be whsec_ and the base64 of ${LEAST_BYTES} to ${MOST_BYTES} bytes, with its padding`,
    );
  return key;
}
