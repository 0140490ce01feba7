import { createRequire } from "node:module";
import { type Logger, pino } from "pino";
import type { LogLevel } from "../config.js";

export type { Logger };

const require = createRequire(import.meta.url);

/** Logs to standard error: lines of JSON, or readable text on a terminal. Never pass it the content of messages. */
export function createLogger(level: LogLevel, terminal = process.stderr.isTTY): Logger {
  const options = { level, base: { pid: process.pid } };
  if (!terminal) return pino(options, pino.destination({ dest: 2, sync: false }));
  const pretty = require("pino-pretty") as typeof import("pino-pretty");
  return pino(options, pretty({ destination: 2, sync: true, ignore: "pid,hostname", translateTime: "SYS:HH:MM:ss.l" }));
}
