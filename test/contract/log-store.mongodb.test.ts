import { describeMongoLogStore } from "./mongo-log-store.js";

await describeMongoLogStore("MongoDB");
