import {
  describeLogStore,
  describeModel,
  describeStorageProvider,
  type LogStoreHarness,
  providersOver,
} from "session-pool/testing";
import { ToyLogDatabase } from "./toy-store.js";

const harness: LogStoreHarness = {
  atomicAppend: true,
  open: async (now) => new ToyLogDatabase(now),
};

describeLogStore("toy", harness);
describeStorageProvider("toy", providersOver(harness));
describeModel("toy", harness);
