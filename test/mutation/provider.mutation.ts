import { MEMORY_HARNESS } from "../contract/memory-harness.js";
import { describeStorageProvider } from "../contract/storage-provider.js";

// Runs the contract without a StorageManager, because a mutant of a history cannot affect it.
describeStorageProvider("memory", MEMORY_HARNESS);
