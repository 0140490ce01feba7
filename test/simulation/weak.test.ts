import { describeSeeds } from "./seeds.js";

// A run of the tests covers 4,000 seeds: these, and as many on the other store.
describeSeeds("weak", 2000);
