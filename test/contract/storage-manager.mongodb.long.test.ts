import { describeOnMongo } from "./mongo-harness.js";
import { describeStorageManager } from "./storage-provider.js";

await describeOnMongo("MongoDB", describeStorageManager);
