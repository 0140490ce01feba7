import { MemoryLogDatabase } from "../../src/storage/memory/memory-log-database.js";
import { describeModel } from "./model/describe-model.js";

describeModel("memory", { atomicAppend: true, open: async (now) => new MemoryLogDatabase({ now }) }, 130);
