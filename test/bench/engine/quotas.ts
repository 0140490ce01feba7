import type { Quotas } from "../../../src/domain/quotas.js";
import { alternate, duringBy } from "../slices.js";
import { type Engine, type EngineOptions, type EngineRow, MESSAGE, openEngine } from "./subjects.js";

/** Quotas that nobody uses up. */
const QUOTA = { sessions: 1_000_000, bytes: 2 ** 50 };
const QUOTAS: Quotas = { owner: QUOTA, key: QUOTA, namespace: QUOTA };
const CALL = { key: "bench", access: { owner: "ada" } };

/** Appends by one caller to a session that counts towards quotas of its owner, its key and the namespace. */
export const appendCounted: EngineRow = (options) =>
  compareCounted(options, (side) => `sqlite:${options.folder}/${side}.db`);

/** The same in memory. */
export const appendCountedInMemory: EngineRow = (options) => compareCounted(options, () => "memory:");

/** The same on PostgreSQL. */
export const appendCountedOnPostgres: EngineRow = (options) =>
  compareCounted(options, (side) => {
    const url = new URL(options.postgresUrl ?? "");
    url.searchParams.set("schema", side);
    return url.href;
  });

async function compareCounted({ slices, sliceMs, onProgress }: EngineOptions, urlOf: (side: string) => string) {
  const without = await openEngine(urlOf("uncounted"));
  const counted = await openEngine(urlOf("counted"), { quotas: QUOTAS });
  try {
    const [one, other] = [await appends(without, sliceMs), await appends(counted, sliceMs)];
    return await alternate(one, other, { slices, by: "clock", onSlice: onProgress });
  } finally {
    await without.close();
    await counted.close();
  }
}

async function appends({ pool: { sessions } }: Engine, sliceMs: number) {
  await sessions.createSession({ sessionId: "s" }, CALL);
  return duringBy(1, sliceMs, async () => {
    await sessions.appendMessages("s", [MESSAGE], CALL);
    return 1;
  });
}
