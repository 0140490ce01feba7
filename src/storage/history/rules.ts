/**
 * The rules of histories that a test build can switch off one at a time, to show that a test notices (history.md, "The rules to switch off").
 * Those marked "store" are obeyed by stores, and switched off in the simulator's.
 */
export const RULES = [
  "seal-before-edit",
  "plan-on-sealed",
  "rollover-seals",
  "wait-for-editor",
  "compare-and-set", // store
  "forks-apart", // store
  "raise-before-child",
  "raise-at-revision",
  "lower-unforked-only",
  "lower-unnamed-only",
  "lower-once",
  "share-copy-unforked-only",
  "sweep-unforked-only", // store
  "sweep-old-only",
  "sweep-store-clock", // store
  "entries-after-record",
  "dropped-side-log",
  "side-log-reuse",
  "look-up-in-segments",
  "repeated-id-ignores-position",
  "rollover-clears-undo",
  "append-clears-undo",
  "refusals-re-read",
  "cut-batch-goes-on",
  "whole-batches-only",
  "token-by-id",
  "stale-head-re-read",
  "late-append-reached",
  "late-reader-restarts",
  "orphans-deleted",
  "tail-first-gap", // store
] as const;

export type Rule = (typeof RULES)[number];
