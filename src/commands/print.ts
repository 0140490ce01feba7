import { fail } from "./fail.js";

let isHeard = false;

/** Prints a line on standard output. When that is impossible, the process ends with the error and exit code 1. */
export function print(line: string): void {
  if (!isHeard) process.stdout.on("error", endWith);
  isHeard = true;
  process.stdout.write(`${line}\n`);
}

function endWith(error: Error): void {
  fail(error);
  process.exit(1);
}
