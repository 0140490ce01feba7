import { DomainError } from "../domain/errors.js";

/**
 * Prints one line for errors that the operator can fix, and a stack for those that only a developer can. Prints nothing
 * when the reader of the output has gone, as in `session-pool sessions list | head`.
 */
export function fail(error: unknown): void {
  process.exitCode = 1;
  if ((error as NodeJS.ErrnoException | undefined)?.code === "EPIPE") return;
  const isExpected = error instanceof DomainError || (error instanceof Error && error.constructor === Error);
  process.stderr.write(
    `session-pool: ${isExpected ? error.message : error instanceof Error ? error.stack : String(error)}\n`,
  );
}
