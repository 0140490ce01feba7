import type { Db, ReadConcernLike } from "mongodb";
import { isUnknownOutcome, mongoError } from "./mongo-errors.js";

/** How to send reads that must see every acknowledged write. */
export interface SafeReads {
  readonly options: { readonly readConcern: ReadConcernLike };
}

/**
 * Chooses linearizable reads where the server supports them, because a primary that has been replaced then gives no
 * answer; elsewhere, the level that matches majority writes.
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
