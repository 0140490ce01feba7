import { describe, expect, it } from "vitest";
import type { ProfileName } from "./profiles.js";
import type { StoreKind } from "./sim-run.js";
import { simulate } from "./simulate.js";

interface Noticed {
  readonly rule: string;
  readonly store: StoreKind;
  readonly profile?: ProfileName;
  /** The first seed to try, close before a seed that has noticed the broken rule. The default is 1. */
  readonly from?: number;
}

/** Rules whose absence random seeds notice soon. For every rule, rule-schedules has a schedule that notices it. */
const NOTICED: readonly Noticed[] = [
  { rule: "seal-before-edit", store: "weak" },
  { rule: "plan-on-sealed", store: "atomic" },
  { rule: "compare-and-set", store: "atomic" },
  { rule: "forks-apart", store: "atomic" },
  { rule: "raise-before-child", store: "atomic" },
  { rule: "lower-unnamed-only", store: "weak" },
  { rule: "sweep-unforked-only", store: "weak" },
  { rule: "look-up-in-segments:appends", store: "atomic" },
  { rule: "append-clears-undo", store: "atomic" },
  { rule: "whole-batches-only:end", store: "weak", from: 421 },
  { rule: "tail-first-gap", store: "weak" },
  // The losses that these rules prevent were first found by hand. Their profiles find them, too.
  { rule: "named-logs-only:store", store: "atomic", profile: "births", from: 191 },
  { rule: "named-logs-only:store", store: "atomic", profile: "clocks", from: 331 },
  { rule: "head-dated-before:new-session", store: "weak", profile: "births", from: 3521 },
  { rule: "late-append-reached:message", store: "weak", profile: "clocks", from: 2311 },
  { rule: "repeated-create-unknown", store: "weak", profile: "resent" },
  { rule: "negative-answers-checked", store: "atomic", profile: "grace", from: 481 },
  { rule: "update-time-with-append", store: "atomic", profile: "lists" },
  { rule: "owner-change-ends-access:log", store: "weak", profile: "owners", from: 2921 },
  { rule: "appends-admitted-singly:turn", store: "atomic", profile: "owners" },
  { rule: "remembered-admits-owners:append", store: "atomic", profile: "owners" },
  { rule: "access-by-the-record:head", store: "atomic", profile: "owners" },
];

const MOST_SEEDS = 4000;

describe("the simulator", () => {
  it.each(NOTICED)("notices that $rule is broken on the $store store", async (broken) => {
    const { rule, store, profile, from = 1 } = broken;
    const path = `./replay.js?without=${rule}`;
    const { failureOf }: typeof import("./replay.js") = await import(/* @vite-ignore */ path);
    for (let seed = from; seed < from + MOST_SEEDS; seed++) {
      const failure = await failureOf(seed, { store, profile });
      if (failure === null) continue;
      console.info(`${rule} on ${store}: seed ${seed} of ${profile ?? "all profiles"}: ${failure.split("\n")[0]}`);
      expect(failure).toContain(`SIM_SEED=${seed}`);
      expect(failure).toContain("Schedule:");
      return;
    }
    expect.fail(`None of ${MOST_SEEDS} seeds noticed it`);
  });

  it.each(["atomic", "weak"] as const)(
    "runs the same steps again with the same seed on the %s store",
    async (store) => {
      for (const seed of [1, 2, 3]) {
        expect(await simulate(seed, { store, trace: true })).toEqual(await simulate(seed, { store, trace: true }));
      }
    },
  );
});
