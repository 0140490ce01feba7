import { MemoryLogDatabase } from "../../src/storage/memory/memory-log-database.js";
import { describeLogStore } from "./log-store.js";

let nowMs = 0;

describeLogStore("memory", {
  atomicAppend: true,
  open: async () => {
    nowMs = Date.now();
    return new MemoryLogDatabase({ now: () => nowMs });
  },
  advance: (ms) => {
    nowMs += ms;
  },
});
