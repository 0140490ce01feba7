import { DomainError } from "../domain/errors.js";

/** Prints one line for errors that the operator can fix, and a stack for those that only a developer can. */
export function fail(error: unknown): void {
  const isExpected = error instanceof DomainError || (error instanceof Error && error.constructor === Error);
  process.stderr.write(
    `session-pool: ${isExpected ? error.message : error instanceof Error ? error.stack : String(error)}\n`,
  );
  process.exitCode = 1;
}
