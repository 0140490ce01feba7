import { describeSeeds } from "./seeds.js";

// With the other store 4,000 a run.
describeSeeds("weak", 2000);
