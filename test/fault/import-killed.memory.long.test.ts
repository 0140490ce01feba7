import { MemoryLogDatabase } from "../../src/storage/memory/memory-log-database.js";
import { describeKilledImports } from "./import-killed.js";

describeKilledImports(
  "memory",
  async () => {
    let nowMs = 1_750_000_000_000;
    const database = new MemoryLogDatabase({ now: () => nowMs });
    return {
      store: database.namespace("default"),
      passTime: (ms) => {
        nowMs += ms;
      },
      close: () => database.close(),
    };
  },
  { canPassTime: true },
);
