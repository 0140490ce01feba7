import { MemoryLogDatabase } from "../../src/storage/memory/memory-log-database.js";
import { describeModel } from "./model/describe-model.js";

describeModel(
  "memory",
  async (now) => {
    const database = new MemoryLogDatabase({ now });
    return { store: () => database.namespace("default"), close: () => database.close() };
  },
  400,
);
