import { readdirSync, readFileSync } from "node:fs";

/**
 * Returns how many milliseconds the threads of these processes have run on processors so far; undefined where the
 * system does not say.
 */
export function processorMs(...pids: readonly number[]): number | undefined {
  try {
    const folders = pids.map((pid) => `/proc/${pid}/task`);
    const threads = folders.flatMap((folder) =>
      readdirSync(folder).map((thread) => readFileSync(`${folder}/${thread}/schedstat`, "utf8")),
    );
    return threads.reduce((sum, schedstat) => sum + Number(schedstat.split(" ")[0]), 0) / 1e6;
  } catch {
    return undefined;
  }
}
