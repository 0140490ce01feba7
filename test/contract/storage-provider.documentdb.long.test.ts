import { startDocumentDb } from "../support/documentdb.js";
import { describeOnMongo } from "./mongo-harness.js";
import { describeStorageProvider } from "./storage-provider.js";

await describeOnMongo("DocumentDB", describeStorageProvider, startDocumentDb);
