import { createRequire } from "node:module";
import { Writable } from "node:stream";
import { type Logger, type LoggerOptions, pino } from "pino";
import type { LogLevel } from "../config/config.js";

export type { Logger };

const require = createRequire(import.meta.url);

/**
 * Logs to standard error, or to `out`: lines of JSON, or readable text on a terminal. Never pass it the content of
 * messages.
 */
export function createLogger(level: LogLevel, terminal = process.stderr.isTTY, out?: Writable | LogFile): Logger {
  const options: LoggerOptions = { level, base: { pid: process.pid } };
  if (!terminal) {
    const lines = { ...options, hooks: { streamWrite: showHidden } };
    return pino(lines, out ?? logFile(2));
  }
  const pretty = require("pino-pretty") as typeof import("pino-pretty");
  const destination = showingHidden(out ?? logFile(2, { sync: true }));
  return pino(options, pretty({ destination, ignore: "pid,hostname", translateTime: "SYS:HH:MM:ss.l" }));
}

type LogFile = ReturnType<typeof pino.destination>;

/** How much of the log may wait, in characters, while it cannot be written. */
const MOST_WAITING = 16 * 1024 * 1024;

/**
 * Writes the log to an open file. While that fails, for example because the disk is full, the process continues: lines
 * wait, and are written with the first one that can be. When too many wait, further ones are dropped. With `sync`, each
 * line is written before the call that logs it returns.
 */
export function logFile(fd: number, { sync = false }: { readonly sync?: boolean } = {}): LogFile {
  const out = pino.destination({ dest: fd, sync, maxLength: MOST_WAITING });
  const flushSync = out.flushSync;
  // At the end of the process, pino would try to write what waits until it succeeds.
  out.on("error", () => {
    out.flushSync = () => {};
  });
  out.on("write", () => {
    out.flushSync = flushSync;
  });
  return out;
}

/**
 * Control characters above ASCII, line separators, and marks that turn the direction of writing. Callers choose names
 * and ids, and JSON escapes only the control characters of ASCII. A terminal would follow the others.
 */
const HIDDEN = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

function showHidden(text: string): string {
  return text.replace(HIDDEN, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

interface TextStream {
  write(text: string): unknown;
  on(event: "error", listener: (error: Error) => void): unknown;
}

/**
 * pino-pretty parses the lines that it gets, so its own output is what must be changed. Each line is passed on at once,
 * so that none is lost when the process ends after it. When `out` fails, as a terminal does that was closed, no more is
 * written, and the process continues.
 */
function showingHidden(out: TextStream): Writable {
  const shown = new Writable({
    decodeStrings: false,
    write: (text: string | Buffer, _encoding, done) => {
      out.write(showHidden(text.toString()));
      done();
    },
  });
  out.on("error", (error) => shown.destroy(error));
  return shown;
}
