import type { EngineOptions } from "../../src/storage/history/history-options.js";
import type { Observed } from "./linearizable.js";
import type { ModelState } from "./model.js";
import type { ProfileName } from "./profiles.js";

export type StoreKind = "atomic" | "weak";

export interface SimOptions {
  readonly store: StoreKind;
  readonly profile?: ProfileName | undefined;
  /** Records every step, for the schedule of a failing seed. */
  readonly trace?: boolean;
  /** Whether the store keeps a feed of its sessions. Only the atomic one can. */
  readonly hasFeed?: boolean;
  /** What the engines of all processes are given in addition. */
  readonly engine?: EngineOptions;
}

export interface SimReport {
  readonly steps: number;
  readonly operations: number;
  readonly deaths: number;
  readonly losses: number;
  readonly followed: number;
  /** How many lists of sessions were compared with what the clients had done. */
  readonly listed: number;
  /** 1 when the search for a legal order was given up. */
  readonly undecided: number;
}

/** Tells what went wrong with a seed. */
export class SimFailure extends Error {
  readonly history: readonly Observed[];
  readonly trace: readonly string[];
  /** The state before the first operation. */
  readonly start: ModelState;

  constructor(
    text: string,
    seen: { history: readonly Observed[]; trace: readonly string[]; start: ModelState },
    options?: ErrorOptions,
  ) {
    super(text, options);
    this.history = seen.history;
    this.trace = seen.trace;
    this.start = seen.start;
  }
}
