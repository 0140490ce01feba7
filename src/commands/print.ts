import { fail } from "./fail.js";

let isHeard = false;

/**
 * Prints a line on standard output. When that is impossible, the process ends with exit code 1: without a word if the
 * reader has gone, as in `session-pool sessions list | head`, and else with the error.
 */
export function print(line: string): void {
  if (!isHeard) process.stdout.on("error", endWith);
  isHeard = true;
  process.stdout.write(`${line}\n`);
}

function endWith(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") fail(error);
  process.exit(1);
}
