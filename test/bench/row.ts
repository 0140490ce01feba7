import type { Comparison } from "./slices.js";

/** A line of the table. */
export interface Row {
  /** For `--rows`. */
  readonly id: string;
  readonly what: string;
  readonly against: string;
  readonly target: Target;
  /** Null when it cannot be measured here; `why` says so. */
  run(context: RowContext): Promise<Measured>;
}

/** A ratio that is to be reached, or a size that is not to be passed. */
export type Target = { readonly atLeast: number } | { readonly underMib: number };

export type Measured =
  | { readonly kind: "ratio"; readonly comparison: Comparison; readonly unit: string; readonly note?: string }
  | { readonly kind: "size"; readonly mib: number; readonly note: string }
  | { readonly kind: "skipped"; readonly why: string };

export interface RowContext {
  readonly slices: number;
  readonly sliceMs: number;
  /** Folder for the files of SQLite. */
  readonly folder: string;
  /** A server for the rows of MongoDB; one is looked for as the tests do without it. */
  readonly mongoUrl: string | undefined;
  readonly onProgress: (done: number, total: number) => void;
}

export function hasMet(target: Target, measured: Measured): boolean | undefined {
  if (measured.kind === "skipped") return undefined;
  if (measured.kind === "size") return "underMib" in target && measured.mib < target.underMib;
  return "atLeast" in target && measured.comparison.ratio >= target.atLeast;
}
