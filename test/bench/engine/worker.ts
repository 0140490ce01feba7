import { appendByManyToMany, appendByManyToOne, appendByOne } from "./append.js";
import { downloadFromSqlite, uploadToSqlite } from "./attachments.js";
import { forkFlat, removeFlat, revertFlat, truncateFlat, updateFlat } from "./edits.js";
import { listAnywhere, listAtEnd } from "./list.js";
import { appendOnMongo, listOnMongo } from "./mongo.js";
import { downloadFromMongo, uploadToMongo } from "./mongo-attachments.js";
import { POSTGRES_ROWS } from "./postgres.js";
import { downloadFromPostgres, uploadToPostgres } from "./postgres-attachments.js";
import { appendCounted, appendCountedInMemory, appendCountedOnPostgres } from "./quotas.js";
import { appendSearched, appendSearchedByMany } from "./search.js";
import { skewedWriters } from "./skew.js";
import type { EngineOptions, EngineRow } from "./subjects.js";

export const ENGINE_ROWS = {
  appendByOne,
  appendByManyToOne,
  appendByManyToMany,
  appendSearched,
  appendSearchedByMany,
  appendCounted,
  appendCountedInMemory,
  appendCountedOnPostgres,
  listAnywhere,
  listAtEnd,
  forkFlat,
  truncateFlat,
  revertFlat,
  updateFlat,
  removeFlat,
  skewedWriters,
  uploadToSqlite,
  downloadFromSqlite,
  uploadToPostgres,
  downloadFromPostgres,
  appendOnMongo,
  listOnMongo,
  uploadToMongo,
  downloadFromMongo,
  ...POSTGRES_ROWS,
} satisfies Record<string, EngineRow>;

/** The request that this process gets. */
export interface EngineRequest extends Omit<EngineOptions, "onProgress"> {
  readonly row: keyof typeof ENGINE_ROWS;
}

process.on("message", async ({ row, ...options }: EngineRequest) => {
  try {
    const onProgress = (done: number) => process.send?.({ done });
    process.send?.({ answer: await ENGINE_ROWS[row]({ ...options, onProgress }) });
  } catch (error) {
    process.send?.({ error: error instanceof Error ? error.stack : String(error) });
  }
});
process.on("disconnect", () => process.exit());
process.send?.({ answer: "ready" });
