import { SimFailure, type SimOptions, type SimReport } from "./sim-run.js";
import { simulate } from "./simulate.js";

/** Describes a failing seed: how to run it again, what the clients observed, and every step of the schedule. */
function describeFailure(seed: number, options: SimOptions, failure: SimFailure): string {
  const seen = failure.history.map(({ client, calledAt, answeredAt, operation, outcome }) =>
    [client, calledAt, answeredAt, JSON.stringify(operation), "=>", JSON.stringify(outcome)].join(" "),
  );
  const head = `Seed ${seed} on the ${options.store} store: ${failure.message}`;
  const profile = options.profile ? ` SIM_PROFILE=${options.profile}` : "";
  const again = `Again: SIM_SEED=${seed}${profile} npx vitest run test/simulation/${options.store}`;
  return [head, again, "", "What clients saw:", ...seen, "", "Schedule:", ...failure.trace].join("\n");
}

/** Runs a seed; when it fails, runs it again with its schedule recorded. Resolves to the description, or null. */
export async function failureOf(
  seed: number,
  options: SimOptions,
  onPassed: (report: SimReport) => void = () => {},
): Promise<string | null> {
  try {
    onPassed(await simulate(seed, options));
    return null;
  } catch (error) {
    if (!(error instanceof SimFailure)) throw error;
  }
  try {
    await simulate(seed, { ...options, trace: true });
  } catch (error) {
    if (!(error instanceof SimFailure)) throw error;
    return describeFailure(seed, options, error);
  }
  return `Seed ${seed} failed once and passed when it was run again: the simulation is not deterministic`;
}
