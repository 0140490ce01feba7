// The entry point `session-pool/testing`: the suites of this folder for stores outside this repository.

export type { LogStoreHarness, SentStatement } from "./log-store/subject.js";
export { describeLogStore } from "./log-store.js";
export { describeModel } from "./model/describe-model.js";
export { type ProvidersOverOptions, providersOver } from "./storage-provider/providers-over.js";
export type { OpenedStorage, StorageProviderHarness } from "./storage-provider/subject.js";
export { describeStorageManager, describeStorageProvider } from "./storage-provider.js";
