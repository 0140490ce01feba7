import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { Logger } from "./logging.js";
import { watchFiles } from "./watched-files.js";

export interface TlsPair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

export interface TlsPaths {
  readonly certPath: string;
  readonly keyPath: string;
}

/**
 * The certificate and key of both ports, read again whenever a file changes. A pair that cannot be used is logged, and
 * the previous one stays.
 */
export class TlsFiles {
  readonly #paths: TlsPaths;
  readonly #logger: Logger;
  readonly #listeners: ((pair: TlsPair) => void)[] = [];
  readonly #stopWatching: () => void;
  #current: TlsPair;

  /** Throws an Error with a one-line message when the files cannot be used. */
  constructor(paths: TlsPaths, logger: Logger) {
    this.#paths = paths;
    this.#logger = logger;
    this.#stopWatching = watchFiles([paths.certPath, paths.keyPath], () => this.reload());
    try {
      this.#current = readPair(paths);
    } catch (error) {
      this.#stopWatching();
      throw error;
    }
  }

  get current(): TlsPair {
    return this.#current;
  }

  /** Calls the listener with every pair that replaces the current one. */
  onChange(listener: (pair: TlsPair) => void): void {
    this.#listeners.push(listener);
  }

  reload(): void {
    try {
      this.#current = readPair(this.#paths);
    } catch (error) {
      // The certificate and its key are two files, and one of them may not have been replaced yet. Its change will be
      // noticed as well.
      this.#logger.error({ reason: String(error) }, "The certificate cannot be used; the one from before stays");
      return;
    }
    for (const listener of this.#listeners) listener(this.#current);
    this.#logger.info("Certificate read again");
  }

  close(): void {
    this.#stopWatching();
  }
}

/** Also checks that the key belongs to the certificate. */
function readPair({ certPath, keyPath }: TlsPaths): TlsPair {
  try {
    const pair = { cert: readFileSync(certPath), key: readFileSync(keyPath) };
    createSecureContext(pair);
    return pair;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`TLS cannot be served with ${certPath} and ${keyPath}: ${reason}`, { cause });
  }
}
