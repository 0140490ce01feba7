import { startDocumentDb } from "../support/documentdb.js";
import { describeMongoLogStore } from "./mongo-log-store.js";

await describeMongoLogStore("DocumentDB", startDocumentDb);
