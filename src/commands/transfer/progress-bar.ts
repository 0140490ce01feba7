import { SingleBar } from "cli-progress";

/** A progress bar on standard error, shown only on a terminal. */
export function progressBar(what: string, unit: string): SingleBar {
  const format = `${what} {bar} {percentage}% | {value}/{total} ${unit} | {eta_formatted} left`;
  return new SingleBar({ format, stream: process.stderr, hideCursor: true, clearOnComplete: true });
}
