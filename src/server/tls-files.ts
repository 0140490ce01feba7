import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { Logger } from "./logging.js";
import { type WatchedFiles, watchFiles } from "./watched-files.js";

export interface TlsPair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

export interface TlsPaths {
  readonly certPath: string;
  readonly keyPath: string;
}

/**
 * The certificate and key of both ports, read again whenever a file changes. While a pair cannot be used, for example
 * because only one of the two files was replaced yet, the previous one stays.
 */
export class TlsFiles {
  readonly #paths: TlsPaths;
  readonly #logger: Logger;
  readonly #listeners: ((pair: TlsPair) => void)[] = [];
  readonly #watched: WatchedFiles;
  #current: TlsPair;

  /** Throws an Error with a one-line message when the files cannot be used. */
  constructor(paths: TlsPaths, logger: Logger) {
    this.#paths = paths;
    this.#logger = logger;
    const failure = "The certificate cannot be used; the one from before stays until it can";
    this.#watched = watchFiles([paths.certPath, paths.keyPath], { read: () => this.#replace(), failure, logger });
    try {
      this.#current = readPair(paths);
    } catch (error) {
      this.#watched.close();
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
    this.#watched.reload();
  }

  close(): void {
    this.#watched.close();
  }

  #replace(): void {
    this.#current = readPair(this.#paths);
    for (const listener of this.#listeners) listener(this.#current);
    this.#logger.info("Certificate read again");
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
