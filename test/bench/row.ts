import type { Comparison } from "./slices.js";

/** A row of the table. */
export interface Row {
  /** The name of the row for `--rows`. */
  readonly id: string;
  readonly what: string;
  readonly against: string;
  readonly target: Target;
  /**
   * Measures the row. Resolves to a skipped result, with the reason, if this machine lacks something that the row
   * needs.
   */
  run(context: RowContext): Promise<Measured>;
}

/** A ratio to reach, or a size to stay below. */
export type Target = { readonly atLeast: number } | { readonly underMib: number };

export type Measured =
  | { readonly kind: "ratio"; readonly comparison: Comparison; readonly unit: string; readonly note?: string }
  | { readonly kind: "size"; readonly mib: number; readonly note: string }
  | { readonly kind: "skipped"; readonly why: string };

export interface RowContext {
  readonly slices: number;
  readonly sliceMs: number;
  /** The folder for SQLite files. */
  readonly folder: string;
  /** The server for the rows of MongoDB. When absent, one is looked for as in the tests. */
  readonly mongoUrl: string | undefined;
  /** The same for the rows of PostgreSQL. */
  readonly postgresUrl: string | undefined;
  readonly onProgress: (done: number, total: number) => void;
}

export function hasMet(target: Target, measured: Measured): boolean | undefined {
  if (measured.kind === "skipped") return undefined;
  if (measured.kind === "size") return "underMib" in target && measured.mib < target.underMib;
  return "atLeast" in target && measured.comparison.ratio >= target.atLeast;
}
