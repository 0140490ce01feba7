import { SingleBar } from "cli-progress";
import { DomainError } from "../domain/errors.js";
import type { SweepReport } from "../storage/storage-provider.js";
import { print } from "./print.js";
import { withPools } from "./with-pools.js";

/**
 * Removes what deleted and changed sessions have left behind, with a progress line on a terminal, and prints what was
 * done. Rejects afterwards if there were sessions that could not be swept. By then the log says why.
 */
export async function sweep(
  storageUrl: string,
  {
    repair,
    ...times
  }: {
    readonly repair: boolean;
    readonly retentionMs: number;
    readonly attachmentIdleMs: number;
    readonly feedRetentionMs: number;
  },
): Promise<void> {
  const bar = new SingleBar({ format: "Sweeping {spinner} {done}", stream: process.stderr, noTTYOutput: false });
  bar.start(1, 0, { done: "", spinner: "" });
  const report = await withPools(
    storageUrl,
    (pools) => pools.sweep({ repair, onProgress: (progress) => bar.update({ done: describe(progress) }) }),
    times,
  ).finally(() => bar.stop());
  print(`Swept: ${describe(report)}`);
  const { failed } = report;
  if (failed > 0) {
    const sessions = failed === 1 ? "1 session" : `${failed} sessions`;
    throw new DomainError("internal", `${sessions} could not be swept; the lines above say why`);
  }
}

function describe({ sessions, ranges, attachments, repairedForks, orphans }: SweepReport): string {
  return `${sessions} sessions, ${ranges} ranges, ${attachments} attachments, ${repairedForks} fork counts, ${orphans} orphans`;
}
