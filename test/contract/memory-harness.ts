import { MemoryLogDatabase } from "../../src/storage/memory/memory-log-database.js";
import { providersOver } from "./storage-provider/providers-over.js";

export const MEMORY_HARNESS = providersOver(
  { atomicAppend: true, open: async (now) => new MemoryLogDatabase({ now }) },
  {
    searches: true,
    stored: async (database) =>
      JSON.stringify([...database.dump().logs.values()].map(({ entries }) => entries.map(({ body }) => body.parts))),
  },
);
