import type { Fleet } from "./fleet.js";
import type { Scheduler } from "./scheduler.js";

/**
 * Runs the scheduler until all jobs have ended or one has failed. Rejects with the error of the first job that failed.
 */
export async function runJobs(scheduler: Scheduler, fleet: Fleet, jobs: readonly Promise<unknown>[]): Promise<void> {
  let left = jobs.length;
  let failure: { readonly error: unknown } | null = null;
  for (const job of jobs) {
    job.then(
      () => left--,
      (error: unknown) => {
        failure ??= { error };
      },
    );
  }
  await scheduler.run(
    () => left === 0 || failure !== null,
    (dead) => fleet.replace(dead),
  );
  if (failure) throw (failure as { readonly error: unknown }).error;
}
