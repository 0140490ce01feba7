import { describeSeeds } from "./seeds.js";

// A run of the tests covers 2,000 seeds: these, and as many on the other store.
describeSeeds("atomic", 1000);
