import { MEMORY_HARNESS } from "./memory-harness.js";
import { describeStorageManager, describeStorageProvider } from "./storage-provider.js";

describeStorageProvider("memory", MEMORY_HARNESS);
describeStorageManager("memory", MEMORY_HARNESS);
