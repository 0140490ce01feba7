import { readdirSync, readFileSync } from "node:fs";

/**
 * Returns how many milliseconds the threads of a process have run on processors so far; undefined where the system does
 * not say.
 */
export function processorMs(pid: number): number | undefined {
  const folder = `/proc/${pid}/task`;
  try {
    const threads = readdirSync(folder).map((thread) => readFileSync(`${folder}/${thread}/schedstat`, "utf8"));
    return threads.reduce((sum, schedstat) => sum + Number(schedstat.split(" ")[0]), 0) / 1e6;
  } catch {
    return undefined;
  }
}
