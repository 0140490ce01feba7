import { MEMORY_HARNESS } from "../contract/memory-harness.js";
import { describeStorageProvider } from "../contract/storage-provider.js";

// Without a StorageManager in front: no mutant of a history knows of it.
describeStorageProvider("memory", MEMORY_HARNESS);
