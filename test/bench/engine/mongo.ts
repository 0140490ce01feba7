import { Long, MongoClient, ObjectId } from "mongodb";
import { alternate, during } from "../slices.js";
import { BODY, type EngineRow, fill, MESSAGE, openEngine } from "./subjects.js";

/** One caller; by hand one insertOne after the other into the same collection, with its keys. */
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
