import { describeSeeds } from "./seeds.js";

// With the other store 4,000 a run.
describeSeeds("atomic", 2000);
