import { SingleBar } from "cli-progress";

/** A progress bar on standard error, shown only on a terminal. */
export function progressBar(what: string, unit: string): SingleBar {
  const format = `${what} {bar} {percentage}% | {value}/{total} ${unit} | {eta_formatted} left`;
  return new SingleBar({ format, stream: process.stderr, hideCursor: true, clearOnComplete: true });
}

/** Counts bytes of attachments, and tells each time how many there are by now, as a bar shows it after its unit. */
export function attachedBytes(show: (text: string) => void): (bytes: number) => void {
  let sum = 0;
  return (bytes) => {
    sum += bytes;
    show(`, ${(sum / 1e6).toLocaleString("en-US", { maximumFractionDigits: 1 })} MB of attachments`);
  };
}
