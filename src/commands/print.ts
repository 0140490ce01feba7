import { once } from "node:events";
import { fail } from "./fail.js";

let isHeard = false;

/** Prints a line on standard output. When that is impossible, the process ends with the error and exit code 1. */
export function print(line: string): void {
  printText(`${line}\n`);
}

/** Prints a text as it is, and otherwise as `print` does. */
export function printText(text: string): void {
  if (!isHeard) process.stdout.on("error", endWith);
  isHeard = true;
  process.stdout.write(text);
}

/**
 * Prints a line, and resolves when standard output takes the next one, however slow its reader is. Rejects when the
 * signal is aborted before that.
 */
export async function printAndDrain(line: string, signal: AbortSignal): Promise<void> {
  print(line);
  if (process.stdout.writableNeedDrain) await once(process.stdout, "drain", { signal });
}

function endWith(error: Error): void {
  fail(error);
  process.exit(1);
}
