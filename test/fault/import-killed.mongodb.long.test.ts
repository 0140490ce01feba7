import { describeOnMongoDb } from "./import-killed-mongodb.js";

await describeOnMongoDb(1);
