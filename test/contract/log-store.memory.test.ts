import { MemoryLogDatabase } from "../../src/storage/memory/memory-log-database.js";
import { describeLogStore } from "./log-store.js";

describeLogStore("memory", { atomicAppend: true, open: async (now) => new MemoryLogDatabase({ now }) });
