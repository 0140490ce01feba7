import { closeSync, constants, fstatSync, openSync, readSync, writeSync } from "node:fs";
import { onOneLine } from "../domain/json.js";
import type { Logger } from "./logging.js";

/** What a line says besides its time. Fields that are undefined are left out. */
export type AuditFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** Created like this; an existing file keeps its mode. */
const MODE = 0o600;
const OTHERS = 0o077;
const FLAGS = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;
/** How many lines wait while the file cannot be written; further ones are lost, which is counted. */
const MOST_WAITING = 10_000;
const RETRY_MS = 1000;
const NEWLINE = 0x0a;

export interface AuditLogOptions {
  readonly logger: Pick<Logger, "warn" | "error">;
  /** Called for each attempt to write that failed, and with how many lines were lost with it. */
  readonly onFailure?: ((lostLines: number) => void) | undefined;
}

/**
 * A file of JSON lines that is only appended to. Each line is one write, made before the call that has it written
 * returns, so that several processes may write to the same file. Lines that cannot be written wait for the next write,
 * or for a second, and are then written in order.
 */
export class AuditLog {
  readonly #path: string;
  readonly #options: AuditLogOptions;
  #file: number;
  #waiting: string[] = [];
  #lost = 0;
  #retry: NodeJS.Timeout | undefined;
  #isFailing = false;

  /** Throws an Error with a one-line message when the file cannot be written. */
  constructor(path: string, options: AuditLogOptions) {
    this.#path = path;
    this.#options = options;
    this.#file = openForAppending(path, options.logger);
  }

  /** Whether lines wait that could not be written. */
  get isFailing(): boolean {
    return this.#isFailing;
  }

  /** Never throws. */
  write(fields: AuditFields): void {
    const line = `${onOneLine(JSON.stringify({ time: new Date().toISOString(), ...fields }))}\n`;
    if (!this.#isFailing && this.#append(line)) return;
    const isLost = this.#waiting.length === MOST_WAITING;
    if (isLost) this.#lost += 1;
    else this.#waiting.push(line);
    this.#options.onFailure?.(isLost ? 1 : 0);
    this.#retry ??= setTimeout(() => this.#writeWaiting(), RETRY_MS).unref();
  }

  /** Continues in a file that is made anew if the present one was moved away. The present one stays if that fails. */
  reopen(): void {
    const before = this.#file;
    try {
      this.#file = openForAppending(this.#path, this.#options.logger);
    } catch (err) {
      this.#options.logger.error({ err }, "The audit log cannot be opened anew; the file from before stays in use");
      this.#options.onFailure?.(0);
      return;
    }
    closeSync(before);
    this.#writeWaiting();
  }

  close(): void {
    clearTimeout(this.#retry);
    this.#writeWaiting();
    const count = this.#waiting.length + this.#lost;
    if (count > 0)
      this.#options.logger.error({ count }, "Lines of the audit log are lost, because it cannot be written");
    closeSync(this.#file);
  }

  #writeWaiting(): void {
    this.#retry = undefined;
    if (this.#waiting.length === 0) return;
    let written = 0;
    while (written < this.#waiting.length && this.#append(this.#waiting[written]!)) written += 1;
    this.#waiting = this.#waiting.slice(written);
    if (this.#waiting.length > 0) {
      this.#retry = setTimeout(() => this.#writeWaiting(), RETRY_MS).unref();
      return;
    }
    this.#isFailing = false;
    const count = this.#lost;
    this.#lost = 0;
    if (count > 0) this.write({ action: "lost", count });
    this.#options.logger.warn({ lost: count }, "The audit log can be written again");
  }

  #append(line: string): boolean {
    try {
      // After a line that was written in part, the next one begins a line of its own.
      const bytes = Buffer.from(this.#isFailing && !endsLine(this.#file) ? `\n${line}` : line);
      if (writeSync(this.#file, bytes) === bytes.length) return true;
      throw new Error("The file took only a part of the line");
    } catch (err) {
      if (!this.#isFailing) {
        const text = "The audit log cannot be written; lines wait until it can, or are lost when too many wait";
        this.#options.logger.error({ err }, text);
      }
      this.#isFailing = true;
      return false;
    }
  }
}

function openForAppending(path: string, logger: Pick<Logger, "warn">): number {
  let file: number | undefined;
  try {
    file = openSync(path, FLAGS, MODE);
    const found = fstatSync(file);
    if (!found.isFile()) throw new Error("it is not a file");
    if ((found.mode & OTHERS) !== 0)
      logger.warn(`Other users of this machine may open the audit log ${path}; chmod 600 keeps them out`);
    if (!endsLine(file)) writeSync(file, "\n");
    return file;
  } catch (cause) {
    if (file !== undefined) closeSync(file);
    throw new Error(`Audit log ${path} cannot be written: ${(cause as Error).message}`, { cause });
  }
}

/** Whether the last line is whole. A process that wrote to a full disk may have left half of one. */
function endsLine(file: number): boolean {
  const { size } = fstatSync(file);
  const last = Buffer.alloc(1, NEWLINE);
  if (size > 0) readSync(file, last, 0, 1, size - 1);
  return last[0] === NEWLINE;
}
