import { describeOnMongo } from "./mongo-harness.js";
import { describeStorageProvider } from "./storage-provider.js";

await describeOnMongo("MongoDB", describeStorageProvider);
