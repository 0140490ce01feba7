import type { Db, ReadConcernLike } from "mongodb";
import { isUnknownOutcome, mongoError } from "./mongo-errors.js";

/** How reads that must see every acknowledged write are sent. */
export interface SafeReads {
  readonly options: { readonly readConcern: ReadConcernLike };
}

/**
 * Linearizable where the server has it, a primary that has lost its place then answers nothing; else what majority
 * writes allow.
 */
export async function probeSafeReads(db: Db): Promise<SafeReads> {
  const linearizable: SafeReads = { options: { readConcern: { level: "linearizable" } } };
  try {
    await db.collection("schema").findOne({ _id: "version" as never }, linearizable.options);
    return linearizable;
  } catch (error) {
    if (isUnknownOutcome(mongoError(error))) throw error;
    return { options: { readConcern: { level: "majority" } } };
  }
}
