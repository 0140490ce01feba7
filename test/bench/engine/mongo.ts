import { Long, MongoClient, ObjectId } from "mongodb";
import { PAGE } from "../samples.js";
import { alternate, during } from "../slices.js";
import { BODY, type EngineRow, fill, MESSAGE, openEngine } from "./subjects.js";

const LISTED = 10_000;

/** Appends by one caller, against one insertOne after the other into the same collection with its indexes. */
export const appendOnMongo: EngineRow = async ({ mongoUrl = "", slices, sliceMs, onProgress }) => {
  const engine = await openEngine(mongoUrl);
  const client = await MongoClient.connect(mongoUrl);
  const messages = client.db().collection("messages", { writeConcern: { w: "majority", journal: true } });
  let seq = 0;
  try {
    await fill(engine, "s", 0);
    const baseline = during(sliceMs, async () => {
      seq += 1;
      await messages.insertOne({
        _id: new ObjectId(),
        session_id: "raw",
        log: "raw",
        seq,
        id: String(seq).padStart(26, "0"),
        timestamp: Long.fromNumber(Date.now() * 1000),
        role: "user",
        body: BODY,
      });
      return 1;
    });
    const ours = during(sliceMs, async () => {
      await engine.pool.sessions.appendMessages("s", [MESSAGE]);
      return 1;
    });
    return await alternate(baseline, ours, { slices, by: "clock", onSlice: onProgress });
  } finally {
    await client.close();
    await engine.close();
  }
};

/** Reads a page at a random place, against the same find by the driver, without converting its documents. */
export const listOnMongo: EngineRow = async ({ mongoUrl = "", slices, sliceMs, onProgress }) => {
  const engine = await openEngine(mongoUrl);
  const client = await MongoClient.connect(mongoUrl);
  const messages = client.db().collection("messages");
  try {
    await fill(engine, "s", LISTED);
    const log = (await messages.findOne({ seq: 1 }))?.log as string;
    const baseline = during(sliceMs, async () => {
      const first = below(LISTED - PAGE) + 1;
      const range = { log, seq: { $gte: first, $lte: first + PAGE - 1 } };
      const page = await messages
        .find(range, { batchSize: PAGE + 1 })
        .sort({ seq: 1 })
        .toArray();
      return page.length / PAGE;
    });
    const ours = during(sliceMs, async () => {
      const page = await engine.pool.sessions.listMessages("s", { limit: PAGE, offset: below(LISTED - PAGE) });
      return page.messages.length / PAGE;
    });
    return await alternate(baseline, ours, { slices, by: "processor", onSlice: onProgress });
  } finally {
    await client.close();
    await engine.close();
  }
};

function below(limit: number): number {
  return Math.floor(Math.random() * limit);
}
